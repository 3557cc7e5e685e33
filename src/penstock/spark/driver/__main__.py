"""The process of Spark's driver: ``python -m penstock.spark.driver <descriptor> <worker> hosted|queries``.

``descriptor`` is that of the socket to the worker, and ``worker`` the process id of it. The last word is for those who
look at the list of processes. Until the driver listens to its worker, which takes a while on a busy machine, the kernel
ends it with its worker; so nothing is imported here before that has been arranged.
"""

from __future__ import annotations

import sys

from penstock.spark.parent import end_with_parent


def main() -> None:
    end_with_parent(int(sys.argv[2]))
    from penstock.spark.driver import driver

    driver.main(int(sys.argv[1]))


if __name__ == "__main__":
    main()
