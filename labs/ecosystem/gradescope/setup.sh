#!/bin/sh
# Gradescope runs this once, as root, when the autograder's image is built. The image has to be of
# Debian 12 or later. Put your course's address of tcplab here, and course.toml beside this file.
set -eu
: "${TCPLAB:=https://github.com/YOUR-COURSE/tcplab}"

apt-get update
apt-get install --yes --no-install-recommends git python3 python3-venv ca-certificates
git clone --depth 1 "$TCPLAB" /autograder/tcplab

# The lab kernel is built now, so that no hand-in waits for it.
/autograder/tcplab/tcplab image build
/autograder/tcplab/tcplab run sack --set duration=2s --repeat 1 --out /tmp/first-run
