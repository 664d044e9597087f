# Everything, on the Python that TensorFlow Privacy's last release runs on:
#   docker build -t claims . && docker run --rm -it -v "$PWD:/work" claims harness compare --profile sequential
FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends make git chromium && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/claims
COPY requirements.lock pyproject.toml README.md LICENSE ./
COPY .ci/install .ci/install
COPY harness harness
RUN .ci/install /opt/venv python
ENV PATH=/opt/venv/bin:$PATH DVC_NO_ANALYTICS=1
WORKDIR /work
CMD ["harness", "--help"]
