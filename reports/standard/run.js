window.HARNESS_RUN = {
 "commit": "349e4ef2577c72959fc8d67a024069b9436120c9-dirty",
 "machine": "AMD EPYC, Linux x86_64, Python 3.11.7",
 "timings": {}
};
