window.HARNESS_RUN = {
 "commit": "df8bf8e9c2716bf1e62fa3d2377e5d941b85553e",
 "machine": "AMD EPYC, Linux x86_64, Python 3.11.7",
 "timings": {
  "humphries2020/fig2": {
   "evaluate": {
    "core_seconds": 2.6,
    "pieces": 160
   },
   "fit": {
    "core_seconds": 14.3,
    "pieces": 10
   },
   "split": {
    "core_seconds": 0.3,
    "pieces": 10
   },
   "train": {
    "core_seconds": 2249.8,
    "pieces": 110
   }
  },
  "humphries2020/fig3": {
   "evaluate": {
    "core_seconds": 3.6,
    "pieces": 240
   },
   "fit": {
    "core_seconds": 21.5,
    "pieces": 15
   },
   "split": {
    "core_seconds": 4.3,
    "pieces": 15
   },
   "train": {
    "core_seconds": 3345.4,
    "pieces": 165
   }
  },
  "humphries2020/fig4": {
   "evaluate": {
    "core_seconds": 0.9,
    "pieces": 80
   },
   "split": {
    "core_seconds": 1.9,
    "pieces": 10
   },
   "train": {
    "core_seconds": 517.2,
    "pieces": 80
   }
  },
  "humphries2020/fig6": {
   "evaluate": {
    "core_seconds": 3.6,
    "pieces": 160
   },
   "fit": {
    "core_seconds": 8.3,
    "pieces": 10
   },
   "split": {
    "core_seconds": 0.1,
    "pieces": 10
   },
   "train": {
    "core_seconds": 2281.2,
    "pieces": 110
   }
  }
 }
};
