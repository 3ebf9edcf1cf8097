"""What of a box's order, besides its limits, both sandboxes carry out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.types import Limits, Sandbox
from tests.evaluator.sandbox.boxes import order, run


def test_variables_are_added_and_replaced(sandbox: Sandbox) -> None:
    code = "import os; print([os.environ[name] for name in ('HF_HUB_OFFLINE', 'HOME', 'OMP_NUM_THREADS', 'EMPTY')])"
    variables = (("HF_HUB_OFFLINE", "1"), ("HOME", "/tmp/a = 'b'\n--c"), ("OMP_NUM_THREADS", "2"), ("EMPTY", ""))
    result = sandbox.run(replace(order(code), variables=variables))
    assert result.stdout == b"['1', \"/tmp/a = 'b'\\n--c\", '2', '']\n", result.stderr


def test_without_variables_the_environment_is_ours_alone(sandbox: Sandbox) -> None:
    result = run(sandbox, "import os; print(sorted(os.environ))")
    ours = {"HOME", "LC_ALL", "LOGNAME", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS"}
    ours |= {"OPENBLAS_NUM_THREADS", "PATH", "TMPDIR"}
    the_sandboxs = {"LD_LIBRARY_PATH", "PWD"} if sandbox.name == "bubblewrap" else {"HOSTNAME"}
    assert set(eval(result.stdout)) == ours | the_sandboxs  # noqa: S307  our own program's list


@pytest.mark.docker
@pytest.mark.parametrize("files", [100, 6000])
def test_the_number_of_files_in_tmp_is_the_orders(docker: DockerSandbox, files: int) -> None:
    """Bubblewrap has no such option; there the control group's memory limit holds inodes."""
    code = """
        import errno
        try:
            for index in range(10000): open(f"/tmp/{index}", "w").close()
        except OSError as error:
            print(errno.errorcode[error.errno], index)
    """
    result = run(docker, code, limits=Limits(tmpfs_files=files))
    assert result.stdout == f"ENOSPC {files - 1}\n".encode()
