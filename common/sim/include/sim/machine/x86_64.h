// The simulated device's part for x86-64.
#pragma once

/// For functions that have an atomic access of 16 bytes.
#define SIM_WIDE_ATOMIC __attribute__((target("cx16")))

/// The stack pointer of this function's caller before the call.
#define SIM_CALLERS_STACK (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + 16)

/// Callee-saved registers, by DWARF number: rbx, rbp, r12 to r15.
#define SIM_KEPT_REGISTERS 3, 6, 12, 13, 14, 15

/// Where a signal interrupted the code (a ucontext_t), and its return address if it was at a function's first
/// instruction.
#define SIM_INTERRUPTED_AT(context) static_cast<std::uintptr_t>((context)->uc_mcontext.gregs[REG_RIP])
#define SIM_INTERRUPTED_CALLER(context) *reinterpret_cast<const std::uintptr_t*>((context)->uc_mcontext.gregs[REG_RSP])

#ifdef SIM_DEFINE_LINE_FUNCTION
// Passes its return address and its caller's stack pointer to sim_reach_line. Changes no register. If sim_reach_line
// returns 1, skips the nop after the call.
asm(R"(
	.pushsection .text.sim_line,"ax",@progbits
	.globl	sim_line
	.type	sim_line, @function
sim_line:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushfq
	pushq	%rax
	movq	sim_running_worker@gottpoff(%rip), %rax
	cmpq	$0, %fs:(%rax)
	jne	2f
	movq	sim_asking@gottpoff(%rip), %rax
	cmpq	$0, %fs:(%rax)
	je	1f
2:	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	subq	$512, %rsp
	andq	$-16, %rsp
	fxsave64	(%rsp)
	movq	8(%rbp), %rdi
	leaq	16(%rbp), %rsi
	call	sim_reach_line
	addq	%rax, 8(%rbp)
	fxrstor64	(%rsp)
	leaq	-80(%rbp), %rsp
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
1:	popq	%rax
	popfq
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	sim_line, .-sim_line
	.popsection
)");
#endif

#ifdef SIM_DEFINE_CHECKED_CALLS
// Calls through pointers, in code that simcc compiled with --checked-calls. sim_call continues at %r11; sim_jump at the
// address on the stack, below a red zone. sim_check_target looks up targets outside the program's own code.
asm(R"(
	.pushsection .text.sim_call,"ax",@progbits
	.globl	sim_call
	.type	sim_call, @function
sim_call:
	.cfi_startproc
	cmpq	sim_own_code(%rip), %r11
	jb	1f
	cmpq	sim_own_code+8(%rip), %r11
	jae	1f
	jmp	*%r11
1:	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	subq	$512, %rsp
	andq	$-16, %rsp
	fxsave64	(%rsp)
	movq	%r11, %rdi
	movq	8(%rbp), %rsi
	call	sim_check_target
	fxrstor64	(%rsp)
	leaq	-72(%rbp), %rsp
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	jmp	*%r11
	.cfi_endproc
	.size	sim_call, .-sim_call
	.globl	sim_jump
	.type	sim_jump, @function
sim_jump:
	pushq	%r11
	movq	8(%rsp), %r11
	cmpq	sim_own_code(%rip), %r11
	jb	1f
	cmpq	sim_own_code+8(%rip), %r11
	jae	1f
	popq	%r11
	ret	$128
1:	leaq	144(%rsp), %rsp
	jmp	sim_call
	.size	sim_jump, .-sim_jump
	.popsection
)");
#endif
