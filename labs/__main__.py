"""`python -m labs`: the commands of `tcplab lab`, and `grade`."""

from testbed.host import in_virtual_environment

if __name__ == "__main__":
    in_virtual_environment()
    from labs.commands import grade, lab

    lab.add_command(grade)
    lab(prog_name=f"python -m {__package__}")
