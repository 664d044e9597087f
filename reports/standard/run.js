window.HARNESS_RUN = {
 "commit": "261fe5e2510111aadc772d69a50979eee23ac6d5-dirty",
 "machine": "AMD EPYC, Linux x86_64, Python 3.11.7",
 "timings": {
  "humphries2020/fig2": {
   "attack": {
    "core_seconds": 51.1,
    "pieces": 200,
    "wall_seconds": 27.3,
    "workers": 2
   },
   "mlflow_seconds": 5.0
  },
  "humphries2020/fig3": {
   "attack": {
    "core_seconds": 25.2,
    "pieces": 100,
    "wall_seconds": 13.6,
    "workers": 2
   },
   "mlflow_seconds": 5.1
  },
  "humphries2020/fig6": {
   "attack": {
    "core_seconds": 31.7,
    "pieces": 200,
    "wall_seconds": 17.8,
    "workers": 2
   },
   "mlflow_seconds": 3.3
  }
 }
};
