"""What is asked of a network: a folder for each study, the procedure, the store, the commands."""

import os
import sys
from importlib.machinery import ModuleSpec

STUDIES = "TCPLAB_STUDIES"
"""Names the folders that hold studies of one's own. This package has a part in each of them."""

_named = os.environ.get(STUDIES, "").split(os.pathsep)
__path__ += [os.path.abspath(folder) for folder in _named if folder]


class StudyStarter:
    """Lets `python -m experiments.NAME` run __main__.py of this package for each study."""

    def find_spec(
        self, fullname: str, _path: object = None, _target: object = None
    ) -> ModuleSpec | None:
        """Return __main__.py of this package for the missing one of a folder in it."""
        folder, _, last = fullname.rpartition(".")
        if last != "__main__" or folder.rpartition(".")[0] != __name__:
            return None
        from importlib.util import spec_from_file_location  # here: guests need none

        return spec_from_file_location(fullname, f"{__path__[0]}/__main__.py")


sys.meta_path.append(StudyStarter())
