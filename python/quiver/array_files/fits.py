"""FITS: the images of a file. Cards of a header become tags; the axes are called as FITS numbers them, the last one first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .model import FileArray, FileGroup, Listing, attributes_of, tags_of

if TYPE_CHECKING:
    from ..array_object import Array

# How FITS stores shape and type.
_OWN_CARDS = frozenset({"SIMPLE", "BITPIX", "NAXIS", "EXTEND", "XTENSION", "PCOUNT", "GCOUNT", "BSCALE", "BZERO", "COMMENT", "HISTORY", ""})
_TAG_OF_NAME = "EXTNAME"


def arrays_of(path: str) -> Listing:
    from astropy.io import fits

    names: dict[str, int] = {}
    with fits.open(path) as file:
        yield FileGroup("", _tags(file[0].header))
        for at, unit in enumerate(file):
            if not unit.is_image or not unit.shape:
                continue
            name = unit.name or f"image_{at}"
            # Several images may have one name, with versions.
            names[name] = names.get(name, 0) + 1
            name = name if names[name] == 1 else f"{name}_{names[name]}"
            dims = tuple(f"axis_{unit.header['NAXIS'] - axis}" for axis in range(len(unit.shape)))
            # The type of the cells follows from several cards. One cell shows it: `data` would read and scale all of them.
            dtype = unit.section[(slice(0, 1),) * len(unit.shape)].dtype if all(unit.shape) else unit.data.dtype
            yield FileArray(
                path=name if name != "PRIMARY" else "primary",
                shape=unit.shape,
                # FITS is big-endian.
                dtype=dtype.newbyteorder("="),
                read=_reader(unit),
                dims=dims,
                growing=(False,) * len(unit.shape),
                attributes=_tags(unit.header),
            )


def _reader(unit: Any) -> Callable[[tuple[slice, ...]], Any]:
    return lambda key: unit.data[key].astype(unit.data.dtype.newbyteorder("="), copy=False)


def _tags(header: Any) -> dict[str, Any]:
    cards = {card.keyword: card.value for card in header.cards if not card.keyword.startswith("NAXIS")}
    return tags_of(cards, _OWN_CARDS)


def write(path: str, arrays: Sequence[Array], attributes: dict[str, Any]) -> None:
    from astropy.io import fits

    units: list[Any] = [fits.PrimaryHDU()]
    for array in arrays:
        unit = fits.ImageHDU(array[...], name=array.name)
        _set_cards(unit.header, attributes_of(array.tags))
        units.append(unit)
    _set_cards(units[0].header, attributes)
    fits.HDUList(units).writeto(path, overwrite=True)


def _set_cards(header: Any, tags: dict[str, Any]) -> None:
    """A name of more than 8 letters is a HIERARCH card. Lists have no form in FITS, and are left out."""
    for name, value in tags.items():
        if isinstance(value, (bool, int, float, str)) and name.upper() not in _OWN_CARDS | {_TAG_OF_NAME}:
            header[name if len(name) <= 8 else f"HIERARCH {name}"] = value
