// The simulated device's part for 64-bit Arm.
#pragma once

/// For functions that have an atomic access of 16 bytes.
#define SIM_WIDE_ATOMIC

/// The stack pointer of this function's caller before the call. g++ puts a frame's record at its lower end, clang++ at
/// its upper end.
#ifdef __clang__
#define SIM_CALLERS_STACK (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + 16)
#else
#define SIM_CALLERS_STACK (reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa()))
#endif

/// Where a signal interrupted the code (a ucontext_t), and its return address if it was at a function's first
/// instruction.
#define SIM_INTERRUPTED_AT(context) static_cast<std::uintptr_t>((context)->uc_mcontext.pc)
#define SIM_INTERRUPTED_CALLER(context) static_cast<std::uintptr_t>((context)->uc_mcontext.regs[30])

/// Callee-saved registers, by DWARF number: x19 to x29, and the lower halves of v8 to v15.
#define SIM_KEPT_REGISTERS 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 72, 73, 74, 75, 76, 77, 78, 79

#ifdef SIM_DEFINE_LINE_FUNCTION
// Passes its return address and its caller's stack pointer to sim_reach_line. Changes no register except x30, as any
// call does; code compiled by simcc -G has saved it. If sim_reach_line returns 1, skips the nop after the call.
asm(R"(
	.pushsection .text.sim_line,"ax",@progbits
	.p2align 2
	.globl	sim_line
	.type	sim_line, %function
sim_line:
	.cfi_startproc
	sub	sp, sp, 704
	.cfi_def_cfa_offset 704
	stp	x29, x30, [sp]
	.cfi_offset 29, -704
	.cfi_offset 30, -696
	mov	x29, sp
	stp	x0, x1, [sp, 16]
	mrs	x0, tpidr_el0
	adrp	x1, :gottprel:sim_running_worker
	ldr	x1, [x1, #:gottprel_lo12:sim_running_worker]
	ldr	x1, [x0, x1]
	cbnz	x1, 2f
	adrp	x1, :gottprel:sim_asking
	ldr	x1, [x1, #:gottprel_lo12:sim_asking]
	ldr	x1, [x0, x1]
	cbz	x1, 1f
2:	stp	x2, x3, [sp, 32]
	stp	x4, x5, [sp, 48]
	stp	x6, x7, [sp, 64]
	stp	x8, x9, [sp, 80]
	stp	x10, x11, [sp, 96]
	stp	x12, x13, [sp, 112]
	stp	x14, x15, [sp, 128]
	stp	x16, x17, [sp, 144]
	mrs	x0, nzcv
	stp	x18, x0, [sp, 160]
	stp	q0, q1, [sp, 176]
	stp	q2, q3, [sp, 208]
	stp	q4, q5, [sp, 240]
	stp	q6, q7, [sp, 272]
	stp	q8, q9, [sp, 304]
	stp	q10, q11, [sp, 336]
	stp	q12, q13, [sp, 368]
	stp	q14, q15, [sp, 400]
	stp	q16, q17, [sp, 432]
	stp	q18, q19, [sp, 464]
	stp	q20, q21, [sp, 496]
	stp	q22, q23, [sp, 528]
	stp	q24, q25, [sp, 560]
	stp	q26, q27, [sp, 592]
	stp	q28, q29, [sp, 624]
	stp	q30, q31, [sp, 656]
	mov	x0, x30
	add	x1, sp, 704
	bl	sim_reach_line
	ldr	x30, [sp, 8]
	add	x30, x30, x0, lsl 2
	str	x30, [sp, 8]
	ldp	q0, q1, [sp, 176]
	ldp	q2, q3, [sp, 208]
	ldp	q4, q5, [sp, 240]
	ldp	q6, q7, [sp, 272]
	ldp	q8, q9, [sp, 304]
	ldp	q10, q11, [sp, 336]
	ldp	q12, q13, [sp, 368]
	ldp	q14, q15, [sp, 400]
	ldp	q16, q17, [sp, 432]
	ldp	q18, q19, [sp, 464]
	ldp	q20, q21, [sp, 496]
	ldp	q22, q23, [sp, 528]
	ldp	q24, q25, [sp, 560]
	ldp	q26, q27, [sp, 592]
	ldp	q28, q29, [sp, 624]
	ldp	q30, q31, [sp, 656]
	ldp	x18, x0, [sp, 160]
	msr	nzcv, x0
	ldp	x16, x17, [sp, 144]
	ldp	x14, x15, [sp, 128]
	ldp	x12, x13, [sp, 112]
	ldp	x10, x11, [sp, 96]
	ldp	x8, x9, [sp, 80]
	ldp	x6, x7, [sp, 64]
	ldp	x4, x5, [sp, 48]
	ldp	x2, x3, [sp, 32]
1:	ldp	x0, x1, [sp, 16]
	ldp	x29, x30, [sp]
	add	sp, sp, 704
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	sim_line, .-sim_line
	.popsection
)");
#endif
