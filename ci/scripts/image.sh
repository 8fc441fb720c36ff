#!/bin/sh
# Build an image for several architectures, one job each, and put them under one tag when all have succeeded.
#
#   image.sh build PLATFORM     build linux/arm64 and push it by its digest alone: no tag points at it yet
#   image.sh verify             check every platform's binaries (multiarch image verify --deep), still without a tag
#   image.sh tag                push one index of all platforms under the tags
#
#   IMAGE        the repository, with its registry, without a tag: registry.example.com/team/api
#   TAGS         the tags, separated by spaces
#   PLATFORMS    the platforms that must be there, separated by spaces (linux/amd64 linux/arm64 linux/arm/v7), or a JSON
#                array of objects with the key PLATFORM
#   CONTEXT, DOCKERFILE, TARGET, BUILD_ARGS, BUILD_SECRETS
#                what to build. BUILD_ARGS has NAME=VALUE, BUILD_SECRETS id=NAME,src=FILE or id=NAME,env=NAME, per line
#   CACHE        the repository of caches, of which each architecture has its own; empty for none
#   BUILDER      buildx or buildah
#   PROVENANCE   max, min or false, and SBOM, true or false: attestations, which only buildx can write
#   LOGIN        ecr, gitlab, variables or none: see `login` below
#   BUILDKIT_IMAGE, SBOM_IMAGE
#                the images of the builder that buildx starts and of what makes SBOMs, with digests; empty for buildx's own
#   EMULATE      true: QEMU_IMAGE, with its digest, registers an emulator in the kernel first (needs docker). Not needed
#                where the runner has the architecture, or has emulators already
#   BUILDX, BUILDAH, BUILDX_BUILDER
#                the commands, where they are not `docker buildx` and `buildah`; a builder that exists already
#
# Digests are handed from job to job in REPORTS/digests/ARCHITECTURE; `tag` with buildx writes that of the index to
# REPORTS/digests/index. Credentials are in CREDENTIALS_DIR only.
#
# Each index names the pipeline that wrote it, in an annotation. `tag` leaves a tag as it is that a later pipeline has
# written: an older build that ends last does not replace the newer one. It runs in one job at a time (resource_group,
# concurrency).
. "$(dirname "$0")/common.sh"

: "${BUILDX:=docker buildx}" "${BUILDAH:=buildah}" "${BUILDER:=buildx}" "${PROVENANCE:=max}" "${SBOM:=true}"
: "${CONTEXT:=.}" "${DOCKERFILE:=Dockerfile}" "${LOGIN:=none}"
digests=$REPORTS/digests
RUN_ANNOTATION=multiarch-eks/pipeline

architecture() { printf '%s' "${1#linux/}" | tr -d /; }
registry() { printf '%s' "${IMAGE%%/*}"; }

# login: write docker's config.json. The password goes through a pipe, never into a command line or the log.
#   ecr        Amazon ECR with the job's AWS role (AWS_ROLE and the OIDC token, or the environment's credentials)
#   gitlab     GitLab's own registry with the job's credentials
#   variables  REGISTRY_USER and REGISTRY_PASSWORD
login() {
  export DOCKER_CONFIG="$CREDENTIALS_DIR"
  [ "$LOGIN" != none ] || return 0
  export REGISTRY_AUTH_FILE="$CREDENTIALS_DIR/config.json" # buildah's
  case $LOGIN in
  gitlab)
    need CI_REGISTRY_USER CI_REGISTRY_PASSWORD
    printf '%s:%s' "$CI_REGISTRY_USER" "$CI_REGISTRY_PASSWORD" | write_auth
    ;;
  variables)
    need REGISTRY_USER REGISTRY_PASSWORD
    printf '%s:%s' "$REGISTRY_USER" "$REGISTRY_PASSWORD" | write_auth
    ;;
  ecr)
    use_aws_role "${AWS_ROLE:-}"
    case $(registry) in
    public.ecr.aws) set -- ecr-public us-east-1 ;;
    *.dkr.ecr.*.amazonaws.com*) set -- ecr "$(registry | cut -d. -f4)" ;;
    *) fail "$(registry) is not a registry of Amazon ECR" ;;
    esac
    # docker's own image is Alpine, without the AWS CLI.
    command -v aws >/dev/null || apk add --quiet --no-cache aws-cli || fail "the AWS CLI is needed to log in to ECR"
    (umask 077 && aws "$1" get-login-password --region "$2" >"$CREDENTIALS_DIR/password")
    { printf 'AWS:' && cat "$CREDENTIALS_DIR/password"; } | tr -d '\n' | write_auth
    rm -f -- "$CREDENTIALS_DIR/password"
    ;;
  *) fail "LOGIN is '$LOGIN'; it must be ecr, gitlab, variables or none" ;;
  esac
}

write_auth() {
  auth=$(base64 | tr -d '\n')
  printf '{"auths":{"%s":{"auth":"%s"}}}\n' "$(registry)" "$auth" | secret_file config.json >/dev/null
}

# with_lines OPTION TEXT: append "OPTION LINE" for each line of TEXT to the array that `eval` makes of $quoted.
with_lines() {
  rest=$2
  while [ -n "$rest" ]; do
    line=${rest%%
*}
    [ "$line" = "$rest" ] && rest='' || rest=${rest#*
}
    [ -z "$line" ] || quoted="$quoted $1 '$(printf '%s' "$line" | sed "s/'/'\\\\''/g")'"
  done
}

build() {
  platform=$1
  name=$(architecture "$platform")
  case " $PLATFORMS " in *" $platform "*) ;; *) fail "$platform is not one of PLATFORMS: $PLATFORMS" ;; esac
  mkdir -p "$digests"
  rm -f -- "$digests/$name"
  quoted=
  with_lines --build-arg "${BUILD_ARGS:-}"
  with_lines --secret "${BUILD_SECRETS:-}"
  eval "set -- $quoted"
  [ -z "${TARGET:-}" ] || set -- "$@" --target "$TARGET"
  if is_true "${EMULATE:-}"; then
    need QEMU_IMAGE
    run docker run --rm --privileged "$QEMU_IMAGE" --install "${name%v7}"
  fi
  login
  "build_with_$BUILDER" "$@"
  grep -qE '^sha256:[0-9a-f]{64}$' "$digests/$name" || { rm -f -- "$digests/$name"; fail "$BUILDER reported no digest"; }
  say "$platform: pushed $IMAGE@$(cat "$digests/$name")"
}

build_with_buildx() {
  if [ -z "${BUILDX_BUILDER:-}" ]; then
    BUILDX_BUILDER=multiarch-eks-${CI_JOB_ID:-$$}
    export BUILDX_BUILDER
    # It holds layers and, while it builds, the registry's token.
    trap '$BUILDX rm --force "$BUILDX_BUILDER" >/dev/null 2>&1 || :; forget_credentials' EXIT
    # shellcheck disable=SC2086 # a command and its arguments
    run $BUILDX create --name "$BUILDX_BUILDER" --driver docker-container \
      ${BUILDKIT_IMAGE:+--driver-opt "image=$BUILDKIT_IMAGE"}
  fi
  case $PROVENANCE in
  false) set -- "$@" --provenance=false ;;
  *) set -- "$@" --provenance="mode=$PROVENANCE" ;;
  esac
  sbom=false
  if is_true "$SBOM"; then sbom=${SBOM_IMAGE:+generator=$SBOM_IMAGE}; fi
  if [ -n "${CACHE:-}" ]; then
    kept=type=registry,ref=$CACHE:cache-$name
    set -- "$@" --cache-from "$kept" --cache-to "$kept,mode=max,image-manifest=true,oci-mediatypes=true"
  fi
  # shellcheck disable=SC2086
  run $BUILDX build --platform "$platform" --file "$DOCKERFILE" --sbom="${sbom:-true}" --progress plain \
    --output "type=image,name=$IMAGE,push-by-digest=true,name-canonical=true,push=true,oci-mediatypes=true" \
    --metadata-file "$digests/$name.json" "$@" "$CONTEXT"
  sed -n 's/.*"containerimage\.digest": *"\([^"]*\)".*/\1/p' "$digests/$name.json" >"$digests/$name"
  rm -f -- "$digests/$name.json"
}

build_with_buildah() {
  { [ "$PROVENANCE" = false ] && ! is_true "$SBOM"; } ||
    fail "buildah writes no attestations: set provenance and sbom to false, or use buildx"
  # Its cache in a registry fails for some files: "history lists 1 non-empty layers, but we have 2 layers on disk".
  [ -z "${CACHE:-}" ] || say "note: buildah uses no cache in a registry"
  made=multiarch-eks-${CI_JOB_ID:-$$}-$name
  layout=$(mktemp -d)
  # shellcheck disable=SC2086 # a command and its arguments
  trap '$BUILDAH manifest rm "$made-index" >/dev/null 2>&1 || :
    $BUILDAH rmi --force "$made" >/dev/null 2>&1 || :
    rm -rf -- "$layout"; forget_credentials' EXIT
  # shellcheck disable=SC2086
  run $BUILDAH build --platform "$platform" --format oci --file "$DOCKERFILE" --tag "$made" "$@" "$CONTEXT"
  # buildah pushes to a digest only what has this digest already: an index of what a first copy has compressed.
  # shellcheck disable=SC2086
  {
    run $BUILDAH push --quiet "$made" "oci:$layout/image"
    run $BUILDAH manifest create "$made-index"
    run $BUILDAH manifest add "$made-index" "oci:$layout/image"
    run $BUILDAH manifest push --quiet --all --format oci --digestfile "$layout/digest" "$made-index" "dir:$layout/index"
    run $BUILDAH manifest push --quiet --all --format oci "$made-index" "docker://$IMAGE@$(cat "$layout/digest")"
  }
  cat "$layout/digest" >"$digests/$name"
}

# all_digests: print REPOSITORY@DIGEST of every platform; fail if one is missing.
all_digests() {
  for platform in $PLATFORMS; do
    name=$(architecture "$platform")
    [ -s "$digests/$name" ] || fail "$platform was not built: nothing is tagged"
    printf '%s@%s\n' "$IMAGE" "$(cat "$digests/$name")"
  done
}

verify() {
  all_digests >/dev/null
  login
  auth=
  [ ! -f "$CREDENTIALS_DIR/config.json" ] || auth="--docker-config $CREDENTIALS_DIR/config.json"
  code=0
  for platform in $PLATFORMS; do
    reference=$IMAGE@$(cat "$digests/$(architecture "$platform")")
    case $platform in
    linux/amd64 | linux/arm64 | linux/arm64/v8) ;;
    *)
      say "note: $platform is not verified: multiarch image verify reads binaries of amd64 and arm64"
      continue
      ;;
    esac
    # shellcheck disable=SC2086
    run $MULTIARCH image verify "$reference" --platform "$platform" --deep $auth || code=$?
  done
  return "$code"
}

tag() {
  references=$(all_digests)
  login
  mine=${CI_SERVER_HOST:-${GITHUB_SERVER_URL:-}}/${CI_PIPELINE_ID:-${GITHUB_RUN_ID:-0}}
  mine=${mine#https://}
  own=
  for each in $TAGS; do
    later=$(writer "$each")
    if [ "${later:-0}" -gt "${mine##*/}" ]; then
      say "$IMAGE:$each stays as it is: a later pipeline, $later, has written it"
    else
      own="$own $each"
    fi
  done
  : >"$digests/index"
  [ -z "$own" ] || "tag_with_$BUILDER"
  for each in $own; do say "$IMAGE:$each: $PLATFORMS"; done
}

# writer TAG: print the number of the pipeline that wrote it; nothing if there is no such tag, or it is another server's.
writer() {
  # shellcheck disable=SC2086
  if [ "$BUILDER" = buildx ]; then
    set -- $BUILDX imagetools inspect --raw "$IMAGE:$1"
  else
    set -- $BUILDAH manifest inspect "$IMAGE:$1" # version 1.28 takes no docker:// here
  fi
  shown=$CREDENTIALS_DIR/shown
  if "$@" >"$shown" 2>"$shown.error"; then
    sed -n "s#.*\"$RUN_ANNOTATION\": *\"${mine%/*}/\([0-9]*\)\".*#\1#p" "$shown" | tail -n 1
  elif ! grep -qiE 'not found|(manifest|name) unknown|expired|not a list type' "$shown.error"; then
    cat "$shown.error" >&2
    fail "the tag $each of $IMAGE can't be read: nothing is tagged"
  fi
}

tag_with_buildx() {
  set -- --annotation "index:$RUN_ANNOTATION=$mine"
  for each in $own; do set -- "$@" --tag "$IMAGE:$each"; done
  # shellcheck disable=SC2086
  run $BUILDX imagetools create "$@" $references
  # shellcheck disable=SC2086
  run $BUILDX imagetools inspect "$IMAGE:$each" --format '{{.Manifest.Digest}}' >"$digests/index"
}

tag_with_buildah() {
  list=multiarch-eks-${CI_JOB_ID:-$$}
  trap '$BUILDAH manifest rm "$list" >/dev/null 2>&1 || :; forget_credentials' EXIT
  # shellcheck disable=SC2086
  run $BUILDAH manifest create "$list"
  for reference in $references; do
    # shellcheck disable=SC2086
    run $BUILDAH manifest add --all --annotation "$RUN_ANNOTATION=$mine" "$list" "docker://$reference"
  done
  for each in $own; do
    # shellcheck disable=SC2086
    run $BUILDAH manifest push --all --format oci "$list" "docker://$IMAGE:$each"
  done
}

need IMAGE PLATFORMS
# Registries reject capitals; the name of an owner or a group, which IMAGE is often made of, may have some.
IMAGE=$(printf '%s' "$IMAGE" | tr '[:upper:]' '[:lower:]')
CACHE=$(printf '%s' "${CACHE:-}" | tr '[:upper:]' '[:lower:]')
case $PLATFORMS in
*'{'*) PLATFORMS=$(printf '%s' "$PLATFORMS" | grep -o '"PLATFORM": *"[^"]*"' | cut -d '"' -f 4 | tr '\n' ' ') ;;
esac
case $BUILDER in buildx | buildah) ;; *) fail "BUILDER is '$BUILDER'; it must be buildx or buildah" ;; esac
case ${1:-} in
build)
  [ -n "${2:-}" ] || fail "usage: image.sh build PLATFORM"
  private_folder
  build "$2"
  ;;
verify)
  private_folder
  verify
  ;;
tag)
  need TAGS
  private_folder
  tag
  ;;
*) fail "usage: image.sh build PLATFORM|verify|tag" ;;
esac
