window.HARNESS_RUN = {
 "commit": "259e4f8a7e67afb20a076069e62265fca1f80587-dirty",
 "machine": "AMD EPYC, Linux x86_64, Python 3.11.7",
 "timings": {
  "humphries2020/fig2": {
   "evaluate": {
    "core_seconds": 0.1,
    "pieces": 360
   },
   "fit": {
    "core_seconds": 47.8,
    "pieces": 20
   },
   "split": {
    "core_seconds": 0.2,
    "pieces": 20
   },
   "train": {
    "core_seconds": 1348.1,
    "pieces": 280
   }
  },
  "humphries2020/fig3": {
   "evaluate": {
    "core_seconds": 0.1,
    "pieces": 540
   },
   "fit": {
    "core_seconds": 71.8,
    "pieces": 30
   },
   "split": {
    "core_seconds": 5.8,
    "pieces": 30
   },
   "train": {
    "core_seconds": 2021.8,
    "pieces": 420
   }
  },
  "humphries2020/fig4": {
   "evaluate": {
    "core_seconds": 0.0,
    "pieces": 180
   },
   "split": {
    "core_seconds": 1.8,
    "pieces": 20
   },
   "train": {
    "core_seconds": 346.9,
    "pieces": 180
   }
  },
  "humphries2020/fig6": {
   "evaluate": {
    "core_seconds": 2.7,
    "pieces": 360
   },
   "fit": {
    "core_seconds": 26.8,
    "pieces": 20
   },
   "split": {
    "core_seconds": 0.0,
    "pieces": 20
   },
   "train": {
    "core_seconds": 1391.9,
    "pieces": 280
   }
  }
 }
};
