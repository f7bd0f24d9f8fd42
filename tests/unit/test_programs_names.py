"""Names of programs in networks, as tests of users import them."""

import tcplab.testing


def test_the_module_of_a_checkout_is_imported_as_that_of_a_wheel() -> None:
    from tcplab import testing

    assert testing.Network is tcplab.testing.Network
    assert set(testing.__all__) <= set(dir(tcplab.testing))
