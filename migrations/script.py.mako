"""${message}"""

from quire.runtime.migration_script import run_script

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}

UP = """
"""


def upgrade() -> None:
    run_script(UP)
