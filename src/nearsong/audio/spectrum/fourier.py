"""Steps of a compiled Fourier transform of sixteen real signals at a time, up to their power spectra.

FFT libraries transform one frame after another. Here sixteen frames are interleaved, so that every step of the
transform is a vector instruction, and the spectrum stays in the cache for what follows (measured in
docs/decisions/0006-mel-power.md). The values of a frame depend on its own samples only.

n real samples are treated as n / 2 complex ones, the even samples as real parts and the odd ones as imaginary parts:
an array of real parts, then of imaginary ones, those of all lanes side by side. They are transformed by steps of
Stockham's self-sorting algorithm, each from one array to another, and separated again. The functions are copied into
the compiled ones that call them with sizes that are constants, so that the compiler can prove that reads and writes
do not overlap.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

LANES = 16
"""Frames transformed at the same time."""


def unit_roots(length: int) -> npt.NDArray[np.float32]:
    """Return real and imaginary parts (2, length) of exp(-2 pi i k / length), for frames of this many samples."""
    angles = -2 * np.pi * np.arange(length) / length
    return np.stack([np.cos(angles), np.sin(angles)]).astype(np.float32)


@njit(inline="always")
def radix_4(x, y, quarter, stride, roots):  # type: ignore[no-untyped-def]
    """Do one step of the transform: from ``stride`` transforms of length 4 * ``quarter`` to four times as many."""
    imaginary = roots.shape[1] // 2 * LANES
    run = stride * LANES
    distance = quarter * run
    step = roots.shape[1] // (4 * quarter)
    for p in range(quarter):
        u_re, u_im = roots[0, p * step], roots[1, p * step]
        v_re, v_im = roots[0, 2 * p * step], roots[1, 2 * p * step]
        w_re, w_im = roots[0, 3 * p * step], roots[1, 3 * p * step]
        source, target = p * run, 4 * p * run
        for i in range(run):
            j = source + i
            x0r, x1r, x2r, x3r = x[j], x[j + distance], x[j + 2 * distance], x[j + 3 * distance]
            j += imaginary
            x0i, x1i, x2i, x3i = x[j], x[j + distance], x[j + 2 * distance], x[j + 3 * distance]
            sum02r, sum02i, dif02r, dif02i = x0r + x2r, x0i + x2i, x0r - x2r, x0i - x2i
            sum13r, sum13i, dif13r, dif13i = x1r + x3r, x1i + x3i, x3i - x1i, x1r - x3r  # the last two times i
            j = target + i
            y[j] = sum02r + sum13r
            y[imaginary + j] = sum02i + sum13i
            re, im = dif02r - dif13r, dif02i - dif13i
            y[j + run] = u_re * re - u_im * im
            y[imaginary + j + run] = u_re * im + u_im * re
            re, im = sum02r - sum13r, sum02i - sum13i
            y[j + 2 * run] = v_re * re - v_im * im
            y[imaginary + j + 2 * run] = v_re * im + v_im * re
            re, im = dif02r + dif13r, dif02i + dif13i
            y[j + 3 * run] = w_re * re - w_im * im
            y[imaginary + j + 3 * run] = w_re * im + w_im * re


@njit(inline="always")
def radix_2(x, y, half):  # type: ignore[no-untyped-def]
    """Do a last step of half the size: sums and differences."""
    imaginary, run = half * LANES, half // 2 * LANES
    for i in range(run):
        x0r, x1r, x0i, x1i = x[i], x[i + run], x[imaginary + i], x[imaginary + i + run]
        y[i] = x0r + x1r
        y[i + run] = x0r - x1r
        y[imaginary + i] = x0i + x1i
        y[imaginary + i + run] = x0i - x1i


@njit(inline="always")
def power_spectrum(z, power, roots):  # type: ignore[no-untyped-def]
    """Turn the transform of even + i odd samples into the first bins of the power spectrum of the real signal."""
    half = roots.shape[1] // 2
    imaginary = half * LANES
    for k in range(len(power)):
        this, other = (k % half) * LANES, ((half - k) % half) * LANES
        w_re, w_im = roots[0, k], roots[1, k]
        for lane in range(LANES):
            z_re, z_im = z[this + lane], z[imaginary + this + lane]
            mirror_re, mirror_im = z[other + lane], z[imaginary + other + lane]
            even_re, even_im = z_re + mirror_re, z_im - mirror_im
            odd_re, odd_im = z_im + mirror_im, mirror_re - z_re
            re = even_re + w_re * odd_re - w_im * odd_im
            im = even_im + w_re * odd_im + w_im * odd_re
            power[k, lane] = np.float32(0.25) * (re * re + im * im)
