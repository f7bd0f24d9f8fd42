"""What is asked of a network: a folder for each study, the procedure, the store, the commands."""

import os

STUDIES = "TCPLAB_STUDIES"
"""Names the folders that hold studies of one's own. This package has a part in each of them."""

_named = os.environ.get(STUDIES, "").split(os.pathsep)
__path__ += [os.path.abspath(folder) for folder in _named if folder]
