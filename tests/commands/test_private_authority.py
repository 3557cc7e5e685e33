"""Commands trust the authority of ``--ca``, or of PENSTOCK_CA, beside those of the machine."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from penstock import cli
from support.certificates import Authority
from support.rest.cluster import RestCluster
from support.rest.server import serve


def test_every_command_trusts_a_private_authority(cluster: RestCluster, tmp_path: Path) -> None:
    authority = Authority.make()
    own, ca, no_ca = tmp_path / "own.pem", tmp_path / "ca.pem", tmp_path / "none.pem"
    identity = authority.identity("localhost")
    own.write_text(identity.key_pem() + identity.certificate_pem)
    ca.write_text(authority.certificate_pem)
    with serve(cluster.app("one"), own) as url:
        at, runner = ["--url", url], CliRunner()
        for command in (["status"], ["get", "plugins"], ["workers"]):
            refused = runner.invoke(cli.app, [*command, *at])
            assert (refused.exit_code, refused.stdout) == (4, "")
            assert "CERTIFICATE_VERIFY_FAILED" in refused.stderr
            assert runner.invoke(cli.app, [*command, *at, "--ca", str(ca)]).exit_code == 0
            assert runner.invoke(cli.app, [*command, *at], env={"PENSTOCK_CA": str(ca)}).exit_code == 0
            assert runner.invoke(cli.app, [*command, *at]).exit_code == 4  # the option is of its own call only
        missing = runner.invoke(cli.app, ["status", *at, "--ca", str(no_ca)])
        assert missing.exit_code == 4
        assert "No TLS client can be created" in missing.stderr


def test_every_command_with_the_url_of_a_worker_has_the_option() -> None:
    commands, found = cli.Commands(name="penstock"), []
    for name in commands.list_commands(None):
        command = commands.get_command(None, name)
        for each in (command, *getattr(command, "commands", {}).values()):
            options = {parameter.name for parameter in each.params}
            if "url" in options:
                found.append(name)
                assert "ca" in options
    assert {"pause", "apply", "dlq", "doctor", "offsets", "preview", "patch", "logs"} <= set(found)
