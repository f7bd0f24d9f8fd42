"""What a spec needs of its kernel: refused if that lacks it, unless it is the kernel's only way."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.flows import proof
from experiments.spec import Condition, ExperimentSpec, Proof
from experiments.study.catalogue import find
from experiments.study.grid import combination
from experiments.study.kernels import refuse_what_is_lacking, without_what_always_holds
from testbed.lab.kernel import all_series, kernel_version
from topologies.errors import UsageError

RECOVERY = "net.ipv4.tcp_recovery"


def spec_on(kernel: str, recovery: str) -> ExperimentSpec:
    base = combination(find("cubic_vs_reno"), {"cc": "reno"}).spec
    (condition,) = base.conditions
    sysctls = (*condition.sysctls, (RECOVERY, recovery))
    return replace(base, kernel=kernel, conditions=(replace(condition, sysctls=sysctls),))


def only_condition(spec: ExperimentSpec) -> Condition:
    (condition,) = spec.conditions
    return condition


def test_what_an_old_kernel_always_does_may_be_asked_of_it() -> None:
    refuse_what_is_lacking(spec_on("3.13", "0"))
    with pytest.raises(UsageError, match=r"tcp_recovery, which Linux 3\.13 lacks: RACK came"):
        refuse_what_is_lacking(spec_on("3.13", "1"))


def test_it_becomes_a_proof_instead_of_a_setting() -> None:
    asked = spec_on("3.13", "0")
    told = only_condition(without_what_always_holds(asked))
    assert RECOVERY not in dict(told.sysctls) and RECOVERY in dict(only_condition(asked).sysctls)
    expected = "net.ipv4.tcp_recovery=0: RACK came with Linux 4.4."
    assert told.proofs[-1] == Proof("absent_setting", expected)
    assert without_what_always_holds(spec_on("7.2", "0")) == spec_on("7.2", "0")


@pytest.mark.parametrize(("name", "held"), [("net.no_such", True), ("kernel.ostype", False)])
def test_the_proof_is_that_the_kernel_has_no_such_setting(name: str, held: bool) -> None:
    (row,) = proof._absent_setting(
        Proof("absent_setting", f"{name}=0: it came later."), spec_on("3.13", "0"), Path()
    )
    assert row["held"] is held
    assert row["claim"] == f"every host behaves as with {name} 0"
    found = "has no such setting" if held else "has such a setting"
    assert row["observed"] == [f"this kernel {found}: it came later."]


def test_a_kernel_lacks_whatever_it_always_does() -> None:
    for series in all_series():
        kernel = kernel_version(series)
        assert set(kernel.always) <= set(kernel.lacks), series
