window.HARNESS_RUN = {
 "commit": "31be1ad59eaad45f37b4a3ea89fcca82e32b7939-dirty",
 "machine": "AMD EPYC, Linux x86_64, Python 3.11.7",
 "timings": {
  "humphries2020/fig4": null
 }
};
