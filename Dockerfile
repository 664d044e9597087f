# Everything, on the Python that TensorFlow Privacy's last release runs on:
#   docker build -t claims . && docker run --rm -it -v "$PWD:/work" --user "$(id -u):$(id -g)" claims harness compare --profile sequential
# Nothing runs as root; `--user` makes the files that a run leaves in a mounted folder yours.
FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends make git chromium && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/claims
COPY requirements.lock requirements-3.12.lock pyproject.toml README.md LICENSE ./
COPY .ci/install .ci/install
COPY harness harness
RUN .ci/install /opt/venv python
ENV PATH=/opt/venv/bin:$PATH DVC_NO_ANALYTICS=1
RUN useradd --create-home --uid 1000 claims && mkdir -p /work && chown claims /work && chmod 1777 /home/claims
ENV HOME=/home/claims
USER claims
WORKDIR /work
CMD ["harness", "--help"]
