"""A module with many attacks on the computer on which its guest runs; a parameter chooses one.

`host_call` in their code is a system call of this computer: a module is code of the guest's
process. What it returned goes to the guest's console as `attack RESULT`.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "experiments/custom_cc/exp.c"
_BEGINNING = Path(__file__).with_name("hostile_module.h")


@dataclass(frozen=True)
class Attack:
    """What hostile_modules.toml says of one."""

    name: str
    code: str
    message: str = ""
    refused: str = ""


def source(attacks: Sequence[Attack], name: str = "attack") -> str:
    """The source of a module of that name: exp, which first makes the chosen attack."""
    functions = [
        f"static void attack_{number}(void)\n{{\n\tint i = 0;\n\n\t(void)i;\n\t{attack.code}\n}}\n"
        for number, attack in enumerate(attacks)
    ]
    names = ", ".join(f"attack_{number}" for number in range(len(attacks)))
    table = f"static void (*attacks[])(void) = {{ {names} }};\n\n"
    before, main = (
        EXAMPLE.read_text().replace('"exp"', f'"{name}"').split("static u32 exp_slow_start", 1)
    )
    main = main.replace("\treturn tcp_register", "\tattacks[which]();\n\treturn tcp_register", 1)
    beginning = _BEGINNING.read_text() + "".join(functions)
    return f"{before}\n{beginning}{table}static u32 exp_slow_start{main}"


def _attack(name: str, call: str = "", value: str = "", **facts: str) -> Attack:
    if call:
        message = "system call of this computer that no guest makes"
        return Attack(name, f"HOST({call});", message)
    return Attack(name, **({"code": f"TELL({value});"} | facts))


_TABLE = tomllib.loads(_BEGINNING.with_name("hostile_modules.toml").read_text())
ATTACKS = [_attack(name, **row) for name, row in _TABLE.items()]
FORGERY = Attack(
    "a whole result",
    'i = opened("/lab/out/result.json", WRITING); HOST(1, i, "{\\"ok\\": true, \\"elapsed\\": 9}",'
    " 26); HOST(231, 0);",
)
"""Not refused: a guest's own results are its own. What is made of them must stand it."""
