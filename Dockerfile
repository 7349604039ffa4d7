# The image of the manager. Elsewhere an ordinary multi-stage build:
#
#   docker build --build-arg VERSION=v1.2.3 --build-arg COMMIT=$(git rev-parse HEAD) .
#
# Where no registry can be reached, an image of nothing but a static binary that
# was built before, as bin/samplecrd-controller; it pulls nothing:
#
#   docker build --build-arg BINARY=prebuilt --build-arg BASE=scratch .
ARG BINARY=build
ARG BASE=gcr.io/distroless/static:nonroot

FROM --platform=${BUILDPLATFORM} golang:1.26 AS build
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
ARG COMMIT=unknown
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -trimpath \
    -ldflags "-s -w -X main.version=${VERSION} -X main.commit=${COMMIT}" \
    -o /samplecrd-controller .

FROM scratch AS prebuilt
COPY bin/samplecrd-controller /samplecrd-controller

FROM ${BINARY} AS binary

FROM ${BASE}
COPY --from=binary /samplecrd-controller /samplecrd-controller
USER 65532:65532
ENTRYPOINT ["/samplecrd-controller"]
