#!/bin/sh
# Make .venv hold what a requirements file names, hashes checked, and this project
# itself as an editable install.
#
#   scripts/venv.sh requirements.txt
#
# The interpreter is the first Python >= 3.13 that really runs; without one, uv
# fetches one into .python/ of this folder. Called by the Makefile.
set -eu

requirements=$1
cd "$(dirname "$0")/.."

# A name proves nothing (pyenv's shims exist for versions that are not installed,
# Debian splits ensurepip off), so every candidate is run.
works() {
    "$1" -c '
import ensurepip, sys, sysconfig, venv
free_threaded = sysconfig.get_config_var("Py_GIL_DISABLED")  # psycopg has no wheels
sys.exit(sys.version_info < (3, 13) or bool(free_threaded))
' >/dev/null 2>&1
}

installed() {
    for candidate in python3.13 python3.14 python3 python \
        "${PYENV_ROOT:-${HOME:-/}/.pyenv}"/versions/3.1[3-9]*/bin/python3; do
        if works "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    return 1
}

# uv itself, if need be, goes into .python/uv, by the version and hashes of the
# development requirements.
uv_command() {
    if command -v uv >/dev/null 2>&1; then
        command -v uv
        return
    fi
    for candidate in python3 python; do
        if "$candidate" -m venv .python/uv; then
            sed -n '/^uv==/,/[^\\]$/p' requirements-dev.txt >.python/uv.txt
            .python/uv/bin/python -m pip install --quiet --require-hashes \
                --requirement .python/uv.txt || return 1
            printf '%s\n' .python/uv/bin/uv
            return
        fi
    done
    return 1
}

fetched() {
    mkdir -p .python
    uv=$(uv_command) || return 1
    UV_PYTHON_INSTALL_DIR=.python/versions
    export UV_PYTHON_INSTALL_DIR
    "$uv" python install --no-bin 3.13 >&2 || return 1
    "$uv" python find --managed-python 3.13
}

# A virtual environment holds absolute paths, so one that was moved or copied here
# still runs the checkout that it was made for.
here=$(pwd -P)
if [ -f .venv/.here ] && [ "$(cat .venv/.here)" != "$here" ]; then
    rm -rf .venv
fi

if ! works .venv/bin/python; then
    rm -rf .venv
    if ! python=$(installed); then
        echo "No Python >= 3.13 here; asking uv for one ..."
        mkdir -p .python
        if ! python=$(fetched 2>.python/uv.log) || ! works "$python"; then
            echo "Counterfoil needs Python 3.13 or newer with its venv module, and" \
                "could not fetch it with uv: please install it (on Debian or" \
                "Ubuntu the packages python3.13 and python3.13-venv) and run" \
                "make again." >&2
            exit 1
        fi
    fi
    "$python" -m venv .venv
fi

if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    .venv/bin/python -m ensurepip >/dev/null # uv makes them without pip
fi

echo "Installing $requirements into .venv ..."
.venv/bin/python -m pip install --quiet --disable-pip-version-check \
    --require-hashes --requirement "$requirements"
# The build backend is among the requirements, hash checked, so nothing is fetched
# for the build; uv_build looks for its program on PATH.
PATH="$PWD/.venv/bin:$PATH" .venv/bin/python -m pip install --quiet \
    --disable-pip-version-check --no-deps --no-build-isolation --editable .
printf '%s\n' "$here" >.venv/.here
