# Container image with the program `weft`:
#
#   docker build -t weft .
#   docker run --rm -v "$PWD":/data -w /data weft train config.yaml
#
# BASE            base image of both stages: Debian 12 or later, Ubuntu 24.04 or later; a CUDA development image (with nvcc) for GPUs
# WEFT_TORCH_SPEC, WEFT_PIP_ARGS   version of LibTorch, see scripts/setup.sh: --build-arg WEFT_PIP_ARGS="--index-url ..." with PyTorch's index of
#                 CPU builds keeps the image small
ARG BASE=debian:12-slim

FROM ${BASE} AS build
ARG WEFT_TORCH_SPEC=torch==2.13.0
ARG WEFT_PIP_ARGS=
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates cmake g++ python3
WORKDIR /weft
# System packages first: they change less often than the code.
COPY scripts/setup.sh scripts/setup.sh
COPY scripts/cmake scripts/cmake
RUN scripts/setup.sh
COPY . .
RUN scripts/build weft && cmake --install build --prefix /opt/weft --strip
# Debian packages of the shared libraries that the program loads; their names depend on BASE.
RUN ldd build/weft | awk '$3 ~ "^/" {print $3}' | xargs -n 1 realpath | grep -v /libtorch/ \
    | xargs -n 1 dpkg -S 2>/dev/null | cut -d : -f 1 | sort -u > /opt/weft/packages
# LibTorch for CUDA is not installed with the program; the program finds it in the build directory.
RUN mkdir -p /keep/weft/build \
    && if [ -e build/libtorch/torch/lib/libtorch_cuda.so ]; then mv build/libtorch /keep/weft/build/; fi

FROM ${BASE}
COPY --from=build /opt/weft /opt/weft
COPY --from=build /keep/ /
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive xargs apt-get install -y --no-install-recommends < /opt/weft/packages \
    && rm -rf /var/lib/apt/lists/* \
    && ln -s /opt/weft/bin/weft /usr/local/bin/weft \
    && weft --version
ENTRYPOINT ["weft"]
