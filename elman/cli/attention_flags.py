"""What `elman translate`, `summarise` and `caption` can show of attention: pictures, alignments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cyclopts import Parameter

from elman.cli.output import note
from elman.figures.attention_maps import check_map_file, write_maps
from elman.figures.files import check_file, writing
from elman.tasks.translation.attention import attention_maps, check_attention
from elman.tasks.translation.trained import TrainedTranslator, Written


@Parameter(name="*")
@dataclass(kw_only=True)
class AttentionFlags:
    """Where the model looked."""

    attention: str | None = None
    "Write where the model looked for each word: a picture (.png, .svg) per line, or .json."
    alignments: str | None = None
    "Write which word comes from which, a line each: 0-0 1-2 (source-target, from 0)."

    def check(self, trained: TrainedTranslator, sources: int) -> None:
        """Refuse, before the work, what cannot be shown or written."""

        if self.attention is not None:
            check_map_file(self.attention, sources)
        if self.alignments is not None:
            check_file(self.alignments, "a list of alignments", ())
        if self.attention is not None or self.alignments is not None:
            check_attention(trained)

    def show(
        self, trained: TrainedTranslator, sources: Sequence[Any], found: list[list[Written]]
    ) -> list[dict[str, Any]]:
        """Write what is wanted of the best text of each source; the same as plain data."""

        if self.attention is None and self.alignments is None:
            return []
        best = [texts[0].ids if texts else () for texts in found]
        maps = attention_maps(trained, sources, best)
        if self.alignments is not None:
            place = check_file(self.alignments, "a list of alignments", ())
            with writing(place) as temporary:
                lines = "".join(f"{one.pharaoh}\n" for one in maps)
                temporary.write_text(lines, encoding="utf-8")
        if self.attention is not None:
            written = write_maps(maps, self.attention)
            if len(written) > 1:
                note(f"pictures: {written[0]} … {written[-1].name}")
        return [{"alignment": one.pharaoh} for one in maps]
