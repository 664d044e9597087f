window.HARNESS_RUN = {
 "commit": "db2511ddd3c3727287829c995cb38f030b49f51c-dirty",
 "machine": "AMD EPYC, Linux x86_64, Python 3.11.7",
 "timings": {
  "humphries2020/fig6": {
   "evaluate": {
    "core_seconds": 27.9,
    "pieces": 1920
   },
   "split": {
    "core_seconds": 0.9,
    "pieces": 80
   },
   "train": {
    "core_seconds": 11478.0,
    "pieces": 960
   }
  }
 }
};
