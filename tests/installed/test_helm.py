"""The chart of ``deploy/helm``: Helm renders it, Kubernetes' schemas accept it, and the worker its properties.

It is not installed anywhere: no Kubernetes is at hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from penstock.api.paths import PATHS_ALLOWED
from penstock.settings import ConfigTransformer, load_settings
from penstock.settings.providers import BUILT_IN
from support.helm import JARS, Helm, HelmError, serving
from support.jars import require

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "penstock"
SCRAM = {
    "tls": {"enabled": True, "trustedCertificates": [{"secretName": "ca", "certificate": name} for name in "ab"]},
    "authentication": {
        "type": "scram-sha-512",
        "username": "connect",
        "passwordSecret": {"secretName": "user", "password": "word"},
    },
}
EVERYTHING = {
    **SCRAM,
    "secrets": ["more"],
    "env": [{"name": "A", "value": "b"}],
    "volumes": [{"name": "plugins", "persistentVolumeClaim": {"claimName": "plugins"}}],
    "volumeMounts": [{"name": "plugins", "mountPath": "/plugins"}],
    "config": {"offset.flush.interval.ms": 10_000_000, "exactly.once.source.support": "enabled"},
    "probeHeaders": [{"name": "Authorization", "value": "Basic eA=="}],
    "autoscaling": {"enabled": True},
    "spark": {"kubernetes": True},
    "podLabels": {"team": "data"},
    "podAnnotations": {"note": "1"},
    "imagePullSecrets": [{"name": "pull"}],
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    ],
    "serviceAccount": {"create": True, "annotations": {"role": "x"}},
    "podMonitor": {"enabled": True, "interval": "15s", "labels": {"release": "prometheus"}},
    "service": {"type": "LoadBalancer", "annotations": {"a": "b"}},
}

BY_NAME = {each.java_name: each for each in BUILT_IN}
OF_OPERATORS = {"PodMonitor"}
"""Kinds that are not Kubernetes' own, so its schemas don't describe them."""


@pytest.fixture(scope="module")
def helm() -> Iterator[Helm]:
    require(JARS)
    with serving() as running:
        yield running


def of(resources: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    [found] = [each for each in resources if each["kind"] == kind]
    return found


def properties(resources: list[dict[str, Any]], folder: Path) -> Path:
    """Return the worker's properties, with the secrets in this folder."""
    text = of(resources, "ConfigMap")["data"]["worker.properties"]
    file = folder / "worker.properties"
    file.write_text(text.replace("/mnt/secrets", str(folder / "secrets")))
    return file


def test_it_is_well_formed(helm: Helm) -> None:
    assert "0 chart(s) failed" in helm.lint(CHART) or "icon is recommended" in helm.lint(CHART)


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_kubernetes_accepts_what_it_renders(helm: Helm, values: dict[str, Any], tmp_path: Path) -> None:
    resources = helm.template(CHART, values, tmp_path)
    kinds = {"ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount"}
    assert {each["kind"] for each in resources} == kinds | (
        {"HorizontalPodAutoscaler", "Role", "RoleBinding", "PodMonitor"} if values else set()
    )
    for each in resources:
        if each["kind"] in OF_OPERATORS:
            continue
        kubernetes_validate.validate(each, "1.30", strict=True)
    pod = of(resources, "Deployment")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    paths = [container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "readiness", "liveness")]
    assert paths == ["/health", "/health", "/health?live=true"]
    assert container["livenessProbe"]["httpGet"].keys() == {"path", "port"}
    assert container["readinessProbe"]["httpGet"].get("httpHeaders", []) == values.get("probeHeaders", [])
    assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in pod["volumes"]}
    assert {"config", "state", "tmp"} <= {each["name"] for each in pod["volumes"]}


def test_the_monitor_finds_the_port_of_the_pods(helm: Helm, tmp_path: Path) -> None:
    resources = helm.template(CHART, EVERYTHING, tmp_path)
    monitor, pod = of(resources, "PodMonitor"), of(resources, "Deployment")["spec"]["template"]
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    assert monitor["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    assert (endpoint["path"], endpoint["interval"]) == ("/metrics", "15s")
    assert endpoint["port"] in {port["name"] for port in pod["spec"]["containers"][0]["ports"]}


def test_the_worker_accepts_its_properties(helm: Helm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_IP", "10.0.0.7")
    settings = load_settings(properties(helm.template(CHART, {}, tmp_path), tmp_path))
    assert (settings.bootstrap_servers, settings.config["group.id"]) == ("kafka:9092", "penstock")
    assert settings.config_topic.name == "penstock-configs"


def test_the_brokers_are_reached_with_what_is_in_secrets(
    helm: Helm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POD_IP", "10.0.0.7")
    for name, text in {"ca/a": "first", "ca/b": "second", "user/word": "hush"}.items():
        (tmp_path / "secrets" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "secrets" / name).write_text(text)
    resources = helm.template(CHART, EVERYTHING, tmp_path)
    given = load_settings(properties(resources, tmp_path)).config
    login = "org.apache.kafka.common.security.scram.ScramLoginModule"
    for client in ("", "producer.", "consumer.", "admin."):
        assert given[f"{client}security.protocol"] == "SASL_SSL"
        assert given[f"{client}sasl.mechanism"] == "SCRAM-SHA-512"
        assert given[f"{client}sasl.jaas.config"] == f'{login} required username="connect" password="hush";'
        assert given[f"{client}ssl.truststore.certificates"] == "first\nsecond"
    assert given["rest.advertised.host.name"] == "10.0.0.7"
    assert given["offset.flush.interval.ms"] == "10000000"
    mounts = of(resources, "Deployment")["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    assert {each["mountPath"] for each in mounts} >= {"/mnt/secrets/ca", "/mnt/secrets/user", "/mnt/secrets/more"}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"replica": 3}, "replica"),
        ({"authentication": {"type": "kerberos"}}, "authentication.type"),
        ({"authentication": {"type": "tls"}}, "authentication.certificateAndKey.secretName is needed"),
        ({"authentication": {"type": "plain"}}, "authentication.passwordSecret.secretName is needed"),
    ],
)
def test_values_that_it_does_not_know_are_refused(
    helm: Helm, values: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(HelmError, match=said):
        helm.template(CHART, values, tmp_path)


def test_clients_may_call_the_service_by_its_names(helm: Helm, tmp_path: Path) -> None:
    resources = helm.template(CHART, {}, tmp_path)
    text = of(resources, "ConfigMap")["data"]["worker.properties"]
    names = text.split("penstock.rest.allowed.hosts=")[1].split("\n")[0].split(",")
    service = of(resources, "Service")["metadata"]["name"]
    assert service in names
    assert [name for name in names if name.startswith(f"{service}.") and name.endswith(".svc")]


def resolved(helm: Helm, tmp_path: Path, config: dict[str, str], **values: Any) -> dict[str, str]:
    """Return a connector's configuration with the references that the chart's worker resolves."""
    given = load_settings(properties(helm.template(CHART, values, tmp_path), tmp_path))
    providers = ConfigTransformer.of(given.config, lambda kind, name: BY_NAME[name])
    return {key: value or "" for key, value in providers.transform(dict(config)).items()}


@pytest.mark.security
def test_connectors_can_refer_to_what_is_for_them_alone(
    helm: Helm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"POD_IP": "10.0.0.7", "TOKEN": "hush", "REGION": "eu"}.items():
        monkeypatch.setenv(name, value)
    for folder in ("secrets/db", "other"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "password").write_text("hush")
    config = {
        "pod": "${env:POD_IP}",
        "token": "${env:TOKEN}",
        "region": "${env:REGION}",
        "secret": f"${{dir:{tmp_path}/secrets/db:password}}",
        "other": f"${{dir:{tmp_path}/other:password}}",
        "dots": f"${{dir:{tmp_path}/secrets/../other:password}}",
        "files": "${file:/etc/penstock/worker.properties:group.id}",
    }
    kept = {key: config[key] for key in ("token", "other", "dots", "files")}
    found = resolved(helm, tmp_path, config)
    assert found == {**kept, "pod": "10.0.0.7", "secret": "hush", "region": config["region"]}
    assert resolved(helm, tmp_path, config, allowedEnv=["REGION"]) == {**found, "region": "eu"}


@pytest.mark.security
def test_connectors_read_and_write_below_data_alone(
    helm: Helm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POD_IP", "10.0.0.7")
    for values, folders in (({}, "/data"), ({"allowedPaths": ["/a", "/b"]}, "/a,/b")):
        assert (
            load_settings(properties(helm.template(CHART, values, tmp_path), tmp_path)).config[PATHS_ALLOWED] == folders
        )
    with pytest.raises(HelmError, match="allowedPaths"):
        helm.template(CHART, {"allowedPaths": []}, tmp_path)
    with pytest.raises(HelmError, match="allowedEnv"):
        helm.template(CHART, {"allowedEnv": [".*"]}, tmp_path)


@pytest.mark.security
def test_pods_are_reached_from_their_namespace_alone(helm: Helm, tmp_path: Path) -> None:
    rules = of(helm.template(CHART, {}, tmp_path), "NetworkPolicy")["spec"]
    pods = of(helm.template(CHART, {}, tmp_path), "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert rules["podSelector"]["matchLabels"].items() <= pods.items()
    assert (rules["policyTypes"], rules["ingress"]) == (["Ingress"], [{"from": [{"podSelector": {}}]}])
    ingress = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}
    further = of(helm.template(CHART, {"networkPolicy": {"from": [ingress]}}, tmp_path), "NetworkPolicy")["spec"][
        "ingress"
    ]
    assert further[1:] == [{"from": [ingress], "ports": [{"port": "rest", "protocol": "TCP"}]}]
    without = helm.template(CHART, {"networkPolicy": {"enabled": False}}, tmp_path)
    assert "NetworkPolicy" not in {each["kind"] for each in without}


@pytest.mark.security
def test_pods_have_no_rights_that_they_do_not_need(helm: Helm, tmp_path: Path) -> None:
    pod = of(helm.template(CHART, {}, tmp_path), "Deployment")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert of(helm.template(CHART, {}, tmp_path), "Service")["spec"]["type"] == "ClusterIP"
