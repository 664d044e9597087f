window.HARNESS_RUN = {
 "commit": "e706cf26c16b219d370438f7948f69c66151c411-dirty",
 "machine": "AMD EPYC, Linux x86_64, Python 3.11.7",
 "timings": {
  "humphries2020/fig6": null
 }
};
