//! Prints an error, instead of a crash by SIGILL, if the processor lacks instructions that this program needs (`.cargo/config.toml`).

use std::arch::x86_64::{__cpuid, __cpuid_count};

/// Bits of leaf 1, ECX: FMA, MOVBE, OSXSAVE, AVX, F16C.
const LEAF_1: u32 = 1 << 12 | 1 << 22 | 1 << 27 | 1 << 28 | 1 << 29;
/// Bits of leaf 7, EBX: BMI1, AVX2, BMI2.
const LEAF_7: u32 = 1 << 3 | 1 << 5 | 1 << 8;

const SENTENCE: &str = "quiver: this program needs a processor with AVX2 (x86-64-v3), and this one has none; \
    build it on this machine with `RUSTFLAGS=-Clink-arg=-fuse-ld=mold make build`\n";

/// The loader calls this before `main`, which may already contain missing instructions.
#[used]
// SAFETY: an entry of .init_array is a function of the C ABI without a result. It uses nothing of Rust's runtime
// (`test_a_processor_without_avx2_gets_a_sentence`).
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = end_without_avx2;

extern "C" fn end_without_avx2() {
    if __cpuid(1).ecx & LEAF_1 != LEAF_1 || __cpuid_count(7, 0).ebx & LEAF_7 != LEAF_7 {
        // SAFETY: the bytes are those of a constant, and `_exit` runs no handlers of a program that has not begun
        // (`test_a_processor_without_avx2_gets_a_sentence`).
        unsafe {
            libc::write(libc::STDERR_FILENO, SENTENCE.as_ptr().cast(), SENTENCE.len());
            libc::_exit(1);
        }
    }
}
