"""Snapshots are copies: they neither change with the training nor are changed by it."""

from one_weight import OneWeight, Scene

from elman.training.snapshot import Snapshot


def test_a_snapshot_does_not_change_with_the_training() -> None:
    scene = Scene(OneWeight([1.0]), momentum=0.9, average="ema", batches=6)
    snapshots = []
    scene.actions = {3: lambda: snapshots.append((scene.trainer.snapshot(), as_text(scene)))}
    scene.run()
    snapshot, text = snapshots[0]
    assert as_text(scene, snapshot) == text


def as_text(scene: Scene, snapshot: Snapshot | None = None) -> str:
    return str(vars(snapshot or scene.trainer.snapshot()))


def test_restoring_twice_from_one_snapshot_gives_the_same_twice() -> None:
    scene = Scene(OneWeight([1.0] * 9), momentum=0.9, average="ema", epochs=2)
    for _ in range(4):
        scene.trainer.step()
    snapshot = scene.trainer.snapshot()
    ends = []
    for _ in range(2):
        scene.trainer.restore(snapshot)
        for _ in range(5):
            scene.trainer.step()
        ends.append(as_text(scene))
    assert ends[0] == ends[1]
