"""Transforms and predicates of jars. The classes of plugins are subclasses that discovery makes, with their names."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.batch import Batch
from penstock.api.transform import Predicate, Transformation
from penstock.hosts.jvm.tasks.steps import JavaStep, OfJava
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm


class JavaTransformation(OfJava, Transformation):
    def configure(self, config: Mapping[str, str]) -> None:
        self.step = JavaStep(TaskJvm.current(), "transformation", self.java_name, config, self.java_location)

    def apply_batch(self, batch: Batch) -> Batch:
        return self.step.apply(batch)

    def close(self) -> None:
        self.step.close()


class JavaPredicate(OfJava, Predicate):
    def configure(self, config: Mapping[str, str]) -> None:
        self.step = JavaStep(TaskJvm.current(), "predicate", self.java_name, config, self.java_location)

    def test_batch(self, batch: Batch) -> list[bool]:
        return self.step.test(batch)

    def close(self) -> None:
        self.step.close()
