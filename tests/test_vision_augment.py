"""Batches of small pictures: what is drawn, and that it depends on seed and epoch alone."""

import numpy as np
import pytest
import torch

from proxact.experiments.vision.augment import InMemory
from proxact.experiments.vision.parallel import Share
from proxact.experiments.vision.pictures import load

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return load("made-up", tmp_path_factory.mktemp("cache"))


def batches(pictures, share=Share(), epoch=0, first_step=0, batch=64, **options):  # noqa: B008 - frozen
    source = InMemory(pictures, share, batch, 3, device=CPU, **options)
    return list(source.epoch(epoch, first_step))


def unscaled(pictures, x):
    std, mean = (torch.tensor(values).view(3, 1, 1) for values in (pictures.std, pictures.mean))
    return (255 * (x * std + mean)).round().to(torch.uint8).numpy()


@pytest.mark.parametrize(("pad", "mode"), [("zero", "constant"), ("reflect", "reflect")])
def test_each_picture_comes_once_cropped_and_flipped(pictures, pad, mode):
    source = np.pad(pictures.train[0].numpy(), ((0, 0), (0, 0), (4, 4), (4, 4)), mode)
    check_crops(pictures, source, side=32, pad=pad)


@pytest.mark.parametrize(("epoch", "side"), [(0, 20), (1, 24), (2, 28)])
def test_the_first_epochs_see_small_crops_without_padding(pictures, epoch, side):
    check_crops(pictures, pictures.train[0].numpy(), side, epoch=epoch, channels_last=True, small=20, small_epochs=3)


def check_crops(pictures, source, side, **options):
    """Each picture comes once, from anywhere in ``source``, and half of them are flipped."""
    windows = np.lib.stride_tricks.sliding_window_view(source, (side, side), (2, 3))
    seen, crops, flips = [], set(), 0
    for size, [(x, y)] in batches(pictures, **options):
        assert size == len(x) == 64
        assert not options.get("channels_last") or x.is_contiguous(memory_format=torch.channels_last)
        for picture, label in zip(unscaled(pictures, x), y, strict=True):
            places = {
                (int(n), int(r), int(c), flip)
                for flip in (False, True)
                for n, r, c in _where(windows, picture[:, :, ::-1] if flip else picture, pictures.train[1] == label)
            }
            assert len(places) == 1
            n, r, c, flip = places.pop()
            seen.append(n)
            crops.add((r, c))
            flips += flip
    assert sorted(seen) == list(range(640))
    rows, columns = ({crop[i] for crop in crops} for i in (0, 1))
    assert rows == columns == {*range(source.shape[-1] - side + 1)}
    assert len(crops) > 0.9 * len(rows) ** 2  # rows and columns are drawn apart
    assert 0.4 < flips / 640 < 0.6


def _where(windows, picture, is_candidate):
    """(picture, row, column) of every crop that equals ``picture``; one pixel rules out nearly all at once."""
    candidates = np.flatnonzero(is_candidate.numpy())
    possible = (windows[candidates, :, :, :, 16, 16] == picture[:, 16, 16][:, None, None]).all(1)
    for n, r, c in np.argwhere(possible):
        if np.array_equal(windows[candidates[n], :, r, c], picture):
            yield candidates[n], r, c


def test_alternate_flips_each_picture_in_every_second_epoch(pictures):
    def by_picture(epoch):
        source = InMemory(pictures, Share(), 64, 3, device=CPU, padding=0, flip="alternate")
        order = torch.randperm(640, generator=torch.Generator().manual_seed(1_000_003 * 3 + epoch))
        found = torch.cat([x for _, [(x, _)] in source.epoch(epoch)])
        return found[order.argsort()]

    first, second, third = (by_picture(epoch) for epoch in range(3))
    assert torch.equal(first, third)
    assert torch.equal(first, second.flip(3))


def test_an_epoch_goes_on_in_its_middle(pictures):
    whole, rest = batches(pictures, epoch=5), batches(pictures, epoch=5, first_step=4)
    assert len(rest) == len(whole) - 4
    for (_, [(x, y)]), (_, [(x2, y2)]) in zip(whole[4:], rest, strict=True):
        assert torch.equal(x, x2)
        assert torch.equal(y, y2)


@pytest.mark.parametrize(("world", "parts"), [(1, 4), (2, 2), (2, 4)])
def test_processes_share_one_batch(pictures, world, parts):
    whole = batches(pictures, batch=100, keep_last=True)
    shared = [batches(pictures, Share(rank, world, parts), batch=100, keep_last=True) for rank in range(world)]
    assert len(whole) == 7  # 640 = 6 x 100 + 40
    for step, (size, [(x, y)]) in enumerate(whole):
        micro = [pair for rank in range(world) for pair in shared[rank][step][1]]
        assert len(micro) == parts
        assert all(shared[rank][step][0] == size == len(x) for rank in range(world))
        assert torch.equal(torch.cat([pair[0] for pair in micro]), x)
        assert torch.equal(torch.cat([pair[1] for pair in micro]), y)


def test_the_test_pictures_are_shared_out_whole_and_unchanged(pictures):
    sources = [InMemory(pictures, Share(rank, 3, 3), 60, 1, device=CPU, channels_last=True) for rank in range(3)]
    pairs = [pair for source in sources for pair in source.test(batch=50)]
    assert sum(len(y) for _, y in pairs) == 200
    assert np.array_equal(unscaled(pictures, pairs[0][0]), pictures.test[0][0::3][:50].numpy())
    assert pairs[0][0].is_contiguous(memory_format=torch.channels_last)


def test_shares_that_do_not_fit():
    with pytest.raises(ValueError, match="divisible by the number of processes, 2, got 3"):
        Share(0, 2, 3)


def test_whole_pictures_come_after_the_small_crops(pictures):
    usual, found = batches(pictures, epoch=3), batches(pictures, epoch=3, small=20, small_epochs=3)
    for (_, [(x, y)]), (_, [(ours, labels)]) in zip(usual, found, strict=True):
        assert torch.equal(x, ours)
        assert torch.equal(y, labels)


def test_crops_grow_in_even_steps(pictures):
    source = InMemory(pictures, Share(), 64, 3, device=CPU, small=16, small_epochs=8)
    sides = [source.side_in(epoch) for epoch in range(10)]
    assert sides == [16, 16, 20, 20, 24, 24, 28, 28, 32, 32]
