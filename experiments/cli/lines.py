"""The commands in the order of the help. The launcher prints it before libraries are installed."""

import sys

import testbed

ABOUT = "TCP experiments on emulated networks: run, repeat, report."
GROUPS: dict[str, dict[str, str]] = {
    "Run": {
        "run": "Run an experiment by name.",
        "sweep": "Run an experiment over a grid and seeds, and compare the results.",
        "reproduce": "Run the published studies and compare their numbers with new runs.",
        "play": "Change a link with sliders and watch TCP: a live page on this computer.",
        "exec": "Run your client and server over a bad network, in virtual time.",
        "surprise": "List what engineers guess wrong about Linux's network, and play one.",
        "shell": "Build TOPOLOGY and open Mininet's command line in it, in real time.",
    },
    "Look": {
        "runs": "List, show and prune stored runs.",
        "open": "Show all runs in a browser, to search and compare them.",
        "report": "Write the report of a finished run again: report runs/sack/latest.",
        "analyze": "Show what TCP did in a capture; --out FOLDER adds graphs and tables.",
        "compare": "Compare runs, or points of sweeps: settings, results, curves.",
        "figure": "Draw a figure of a run or sweep for a paper: PDF, SVG, PNG, PGF, or a table.",
        "bundle": "Pack a run or sweep as an artefact that repeats and compares itself.",
        "verify": "Repeat a run or sweep of the lab kernel and compare its files byte by byte.",
    },
    "Teach": {
        "lab": "Start a lab, do its runs, check and pack the answers.",
        "grade": "Grade a class's hand-ins: repeat each run, compare, and mark the answers.",
    },
    "Kernels": {
        "kernel": "List, build and compare the kernels that hosts can run in virtual time.",
        "cc": "Build your congestion control and compare it with Reno, never in this kernel.",
        "packetdrill": "Run packetdrill scripts, or all *.pkt of a folder, in the lab kernel.",
    },
    "Machine": {
        "doctor": "Check this machine and print how to fix each problem (--json).",
        "bench": "Measure what packets, flows, hosts and points cost: processor time and memory.",
        "clean": "Remove what killed runs left behind, as they noted it.",
        "image": "The lab kernel and the guest's image.",
    },
    "Rare": {
        "scheduler": (
            "Run a Dask scheduler until Ctrl-C, for workers and sweeps of several machines."
        ),
        "worker": "Work for the Dask scheduler at tls://HOST:8786 until it ends.",
        "cluster": "Make the certificate that the machines of a cluster share.",
        "completion": 'Print the code that completes commands: eval "$(./tcplab completion bash)".',
        "man": "Print the manual page: ./tcplab man | man -l -",
        "docs": "Build the documentation site with reference and gallery; a dead link is an error.",
        "release": "Make a self-contained release of this checkout: wheels and an archive.",
        "lock": ("Renew the locks of Debian's and Python's packages and of crates."),
    },
}
"""The line of each command, in the order of the help."""
LINES = {name: line for group in GROUPS.values() for name, line in group.items()}


def first_help() -> str:
    """Return the help of a checkout whose libraries are not installed yet."""
    lines = ["Usage: ./tcplab [OPTIONS] COMMAND [ARGS]...", "", f"  {ABOUT}"]
    for group, commands in GROUPS.items():
        lines += ["", f"{group}:", *(f"  {name:<13}{line}" for name, line in commands.items())]
    return "\n".join([*lines, "", "The first command of these installs Python libraries in .venv."])


def main(wanted: str = "") -> None:
    print(f"tcplab, version {testbed.VERSION}" if wanted == "--version" else first_help())


if __name__ == "__main__":
    main(*sys.argv[1:])
