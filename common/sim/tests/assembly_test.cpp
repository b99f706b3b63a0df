// What simcc counts in a basic block, for each processor's assembly: the same loop, as g++ compiles it.
#include "../tools/assembly.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "../tools/processor.hpp"

namespace {

/// Each block's figures: instructions, fadd, fmul, ffma, dadd, dmul, dfma, special, counted, stepped.
std::vector<std::string> blocks_of(const std::string& body, sim::processor& on, const sim::assembly_edits& edits = {}) {
  const std::string edited =
      sim::edit_assembly("\t.text\n\t.type\tk, @function\nk:\n" + body + "\t.size\tk, .-k\n", edits, on);
  std::vector<std::string> blocks;
  static const std::regex row("\\.short\t([0-9, ]+)");
  for (std::sregex_iterator i(edited.begin(), edited.end(), row), end; i != end; ++i) blocks.push_back((*i)[1]);
  return blocks;
}

// for (int j = 0; j < 32; ++j) s += a[j] * b[j]; and out[threadIdx.x] = s / n;
const std::string loop_on_x86_64 = R"(
	pushq	%rbx
	call	__sanitizer_cov_trace_pc@PLT
	movq	%rdi, %rbx
	vxorps	%xmm2, %xmm2, %xmm2
.L9:
	call	__sanitizer_cov_trace_pc@PLT
	movq	%r13, %rdi
	addq	$4, %r13
	call	__tsan_read4@PLT
	vmovss	-4(%r13), %xmm0
	leaq	(%r12,%r14,4), %rdi
	call	__tsan_read4@PLT
	vfmadd231ss	(%r12,%r14,4), %xmm0, %xmm2
	cmpl	$32, %ebx
	jne	.L9
	call	__sanitizer_cov_trace_pc@PLT
	movq	threadIdx@gottpoff(%rip), %rax
	movl	%fs:(%rax), %ebp
	vdivss	%xmm1, %xmm2, %xmm2
	call	__tsan_write4@PLT
	vmovss	%xmm2, (%rbx)
	ret
)";
const std::string loop_on_arm64 = R"(
	stp	x29, x30, [sp, -48]!
	mov	x29, sp
	stp	x19, x20, [sp, 16]
	bl	__sanitizer_cov_trace_pc
	mov	x19, x0
	movi	v8.2s, #0
	mrs	x22, tpidr_el0
.L9:
	bl	__sanitizer_cov_trace_pc
	mov	x0, x20
	bl	__tsan_read4
	ldr	s9, [x20], 4
	add	x0, x21, x23, lsl 2
	bl	__tsan_read4
	ldr	s0, [x21, x23, lsl 2]
	fmadd	s8, s9, s0, s8
	cmp	w19, 32
	bne	.L9
	bl	__sanitizer_cov_trace_pc
	adrp	x0, :gottprel:threadIdx
	ldr	x0, [x0, #:gottprel_lo12:threadIdx]
	add	x3, x22, x0
	ldr	w24, [x3, 4]
	fdiv	s8, s8, s1
	bl	__tsan_write4
	str	s8, [x19]
	ldp	x29, x30, [sp], 48
	ret
)";

TEST(Assembly, BlocksCountTheSameOnEachProcessor) {
  // The loop: a load, a load with its multiply-add, a comparison and a jump; Arm splits the second in two. The
  // division takes nine instructions, five of them multiply-adds.
  EXPECT_EQ(blocks_of(loop_on_x86_64, *sim::x86_64()),
            (std::vector<std::string>{"1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0", "4, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0",
                                      "12, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0"}));
  EXPECT_EQ(blocks_of(loop_on_arm64, *sim::arm64()),
            (std::vector<std::string>{"0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0", "5, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0",
                                      "13, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0"}));
}

// The compiler moves instructions of a loop ahead of the call that traces it; they do not belong to the previous block.
TEST(Assembly, ABlockBeginsAtItsLabel) {
  const std::string loop = R"(
	call	__sanitizer_cov_trace_pc@PLT
	xorl	%ebx, %ebx
.L3:
	addl	$1, %ebx
	call	__sanitizer_cov_trace_pc@PLT
	movq	%rbp, %rdi
	call	__tsan_read4@PLT
	vaddss	0(%rbp), %xmm0, %xmm0
	addq	%r14, %rbp
	cmpl	%ebx, %r12d
	jne	.L3
)";
  EXPECT_EQ(blocks_of(loop, *sim::x86_64()),
            (std::vector<std::string>{"1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0",
                                      "4, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0"}));  // %rbp advances by %r14
}

// A step is a register that the loop does not change: nvcc knows it when the loop begins.
TEST(Assembly, AStepDoesNotChangeInItsLoop) {
  const auto steps = [](sim::processor& on, const std::string& trace, const std::string& body) {
    return blocks_of("\t" + trace + "\n" + body, on).at(0).ends_with(" 1, 0");
  };
  const auto x86_64 = [&](const std::string& body) {
    return steps(*sim::x86_64(), "call\t__sanitizer_cov_trace_pc@PLT", body);
  };
  const auto arm64 = [&](const std::string& body) {
    return steps(*sim::arm64(), "bl\t__sanitizer_cov_trace_pc", body);
  };
  EXPECT_TRUE(x86_64("\tmovq\t%rbx, %rdi\n\taddq\t%r12, %rbx\n"));
  EXPECT_TRUE(x86_64("\tmovq\t%rbx, %rdi\n\taddq\t8(%rsp), %rbx\n"));
  EXPECT_FALSE(x86_64("\tleaq\t(%rbp,%rbx,4), %rdi\n\taddq\t%r12, %rbx\n"));  // an index, which may overflow
  EXPECT_FALSE(x86_64("\tmovslq\t%ebx, %rax\n\taddl\t%r12d, %ebx\n\tleaq\t(%rbp,%rax,4), %r15\n\tmovq\t%r15, %rdi\n"));
  EXPECT_FALSE(x86_64("\tmovq\t%rbx, %rdi\n\tmovq\t(%rax), %r12\n\taddq\t%r12, %rbx\n"));
  EXPECT_FALSE(x86_64("\tmovq\t%rbx, %rdi\n\taddq\t%rax, 4(%rcx)\n"));
  EXPECT_TRUE(arm64("\tmov\tx0, x20\n\tbl\t__tsan_read4\n\tldr\ts0, [x20]\n\tadd\tx20, x20, x21\n"));
  EXPECT_FALSE(arm64("\tmov\tx0, x20\n\tldr\tx21, [x1]\n\tadd\tx20, x20, x21\n"));
  EXPECT_FALSE(arm64("\tmov\tx0, x20\n\tadd\tx20, x20, 4\n"));  // a constant is counted elsewhere
  EXPECT_FALSE(arm64("\tadd\tx0, x19, w20, sxtw 2\n\tadd\tw20, w20, w21\n"));
}

// After the loop, before the call tracing the next block, an instruction changes the pointer that the loop advances.
TEST(Assembly, WhatFollowsALoopDoesNotChangeItsStep) {
  const std::string loop = R"(
	bl	__sanitizer_cov_trace_pc
	mov	x0, x19
	bl	__tsan_read4
	ldr	s0, [x19]
	add	x19, x19, x23
	cmp	w21, w20
	bgt	.L3
.L2:
	uxtw	x19, w24
	bl	__sanitizer_cov_trace_pc
	ret
)";
  EXPECT_TRUE(blocks_of(loop, *sim::arm64()).at(0).ends_with(" 1, 0"));
}

// `#pragma unroll 1`, as lower.cpp marks it.
TEST(Assembly, ALoopThatIsNotToBeUnrolledHasNoKnownStep) {
  const std::string loop = "\tcall\t__sanitizer_cov_trace_pc@PLT\n\taddq\t$4, %rbx\n";
  EXPECT_TRUE(blocks_of(loop, *sim::x86_64()).at(0).ends_with(" 1, 0, 0"));
  EXPECT_TRUE(blocks_of(loop + "\t.set sim_rolled, 0\n", *sim::x86_64()).at(0).ends_with(" 0, 0, 0"));
}

// `if (x && y) a = b;`: nvcc predicates the store instead of branching past it.
TEST(Assembly, AnIfWithoutElseIsPredicated) {
  const std::string trace = "\tcall\t__sanitizer_cov_trace_pc@PLT\n";
  const std::string store = "\tmovq\t%rbx, %rdi\n\tcall\t__tsan_write4@PLT\n\tmovl\t%eax, (%rbx)\n";
  const auto last = [](const std::string& text) {
    std::string numbers;
    for (const std::string& block : blocks_of(text, *sim::x86_64())) numbers += block.substr(block.rfind(' ') + 1);
    return numbers;
  };
  const std::string first = trace + "\tcmpl\t$31, %ecx\n\tjg\t.L7\n",
                    second = trace + "\tcmpl\t%edx, %ecx\n\tjge\t.L7\n";
  EXPECT_EQ(last(first + second + trace + store + ".L7:\n" + trace), "002");
  EXPECT_EQ(last(first + trace + store + "\tcall\tprintf@PLT\n.L7:\n" + trace), "00");
  EXPECT_EQ(last(first + trace + store + "\tjmp\t.L8\n.L7:\n" + trace), "00");             // else
  EXPECT_EQ(last(first + ".L6:\n" + trace + store + "\tjne\t.L6\n.L7:\n" + trace), "00");  // a loop
}

// nvcc doubles by adding, computes 1 / x in fewer steps than y / x, and ends expf with a multiplication.
TEST(Assembly, CountsWhatNvccMakesOfSpecialOperands) {
  const auto counted = [](const std::string& body) {
    const std::string numbers = blocks_of("\tcall\t__sanitizer_cov_trace_pc@PLT\n" + body +
                                              "\tret\n.LC0:\n\t.long\t1073741824\n.LC1:\n\t.long\t1065353216\n",
                                          *sim::x86_64())
                                    .at(0);
    std::size_t end = 0;
    for (int k = 0; k < 4; ++k) end = numbers.find(',', end + 1);
    return numbers.substr(0, end);
  };
  // Instructions, fadd, fmul, ffma; the return is one of them.
  EXPECT_EQ(counted("\tvmovss\t.LC0(%rip), %xmm2\n\tvfmadd132ss\t%xmm2, %xmm1, %xmm0\n"), "4, 2, 0, 0");
  EXPECT_EQ(counted("\tvfmsub231ss\t.LC0(%rip), %xmm1, %xmm0\n"), "3, 2, 0, 0");
  EXPECT_EQ(counted("\tvfmadd132ss\t%xmm2, %xmm1, %xmm0\n"), "2, 0, 0, 1");
  EXPECT_EQ(counted("\tvmovss\t.LC1(%rip), %xmm1\n\tvdivss\t%xmm0, %xmm1, %xmm0\n"), "10, 1, 0, 2");
  EXPECT_EQ(counted("\tvdivss\t.LC1(%rip), %xmm1, %xmm0\n"), "10, 0, 0, 5");
  EXPECT_EQ(counted("\tvdivsd\t%xmm2, %xmm1, %xmm0\n"), "18, 0, 0, 1");  // the range is checked on the upper half
  const std::string exponential = "\tcall\texpf@PLT\n\tvmovss\t%xmm0, 4(%rsp)\n";
  EXPECT_EQ(counted("\tcall\texpf@PLT\n\tvaddss\t8(%rsp), %xmm0, %xmm1\n"), "10, 1, 0, 5");
  EXPECT_EQ(counted(exponential + "\tcall\t__tsan_write4@PLT\n\tvsubss\t4(%rsp), %xmm1, %xmm2\n"), "9, 1, 0, 5");
  EXPECT_EQ(counted("\tcall\texpf@PLT\n\tvmovd\t%xmm0, %ebp\n\tcall\t__tsan_write4@PLT\n" +
                    std::string("\tvmovd\t%ebp, %xmm4\n\tvaddss\t.LC1(%rip), %xmm4, %xmm1\n")),
            "9, 1, 0, 5");
  EXPECT_EQ(counted(exponential + "\tvaddss\t4(%rsp), %xmm1, %xmm2\n\tcall\t__tsan_write4@PLT\n" +
                    "\tvmovss\t4(%rsp), %xmm0\n\tvmovss\t%xmm0, (%rbx)\n"),
            "11, 2, 1, 4");  // the result is also stored
  EXPECT_EQ(counted("\tcall\ttanhf@PLT\n\tvaddss\t8(%rsp), %xmm0, %xmm0\n"), "19, 2, 2, 6");
}

// As on x86-64, but without a return.
TEST(Assembly, CountsWhatNvccMakesOfSpecialOperandsOnArm) {
  const auto counted = [](const std::string& body) {
    const std::string all = blocks_of("\tbl\t__sanitizer_cov_trace_pc\n" + body, *sim::arm64()).at(0);
    return all.substr(0, all.find(", 0, 0, 0, 1"));
  };
  EXPECT_EQ(counted("\tfmov\ts2, 1.0e+0\n\tfdiv\ts0, s2, s0\n"), "8, 1, 0, 2");
  EXPECT_EQ(counted("\tfmov\ts2, #1.00000000\n\tfdiv\ts0, s2, s0\n"), "8, 1, 0, 2");
  EXPECT_EQ(counted("\tfmov\ts8, 1.0e+0\n\tbl\t__tsan_read4\n\tfdiv\ts0, s8, s0\n"), "8, 1, 0, 2");
  EXPECT_EQ(counted("\tfmov\ts2, 1.0e+0\n\tbl\t__tsan_read4\n\tfdiv\ts0, s2, s0\n"), "9, 0, 0, 5");
  EXPECT_EQ(counted("\tfmov\ts2, 1.0e+0\n\tfdiv\ts0, s0, s2\n"), "9, 0, 0, 5");
  EXPECT_EQ(counted("\tbl\texpf\n\tfadd\ts1, s0, s8\n"), "9, 1, 0, 5");
  EXPECT_EQ(counted("\tbl\texpf\n\tstr\ts0, [sp, 4]\n\tbl\t__tsan_write4\n\tldr\ts1, [sp, 4]\n\tfsub\ts2, s3, s1\n"),
            "8, 1, 0, 5");
  EXPECT_EQ(counted("\tbl\texpf\n\tfmov\tw19, s0\n\tbl\t__tsan_write4\n\tfmov\ts4, w19\n\tfadd\ts1, s4, s8\n"),
            "8, 1, 0, 5");
  EXPECT_EQ(counted("\tbl\texpf\n\tfmov\ts8, s0\n\tfadd\ts2, s1, s8\n\tbl\t__tsan_write4\n\tstr\ts8, [x19]\n"),
            "10, 2, 1, 4");  // the result is also stored
}

// -use_fast_math: one special-function instruction, and at most one multiplication. Doubles stay as they are.
TEST(Assembly, FastMathTakesFewInstructions) {
  const auto counted = [](const std::string& body) {
    return blocks_of("\tcall\t__sanitizer_cov_trace_pc@PLT\n" + body, *sim::x86_64(), {.fast_math = true}).at(0);
  };
  EXPECT_EQ(counted("\tcall\texpf@PLT\n"), "2, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0");
  EXPECT_EQ(counted("\tcall\tsim_fast_expf@PLT\n"), "2, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0");
  EXPECT_EQ(counted("\tcall\tlogf@PLT\n\tvaddss\t8(%rsp), %xmm0, %xmm1\n"), "2, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0");
  EXPECT_EQ(counted("\tvdivss\t%xmm1, %xmm0, %xmm0\n"), "2, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0");
  EXPECT_EQ(counted("\tvsqrtss\t%xmm0, %xmm0, %xmm0\n"), "1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0");
  EXPECT_EQ(counted("\tvsqrtsd\t%xmm0, %xmm0, %xmm0\n"), "18, 0, 0, 0, 0, 3, 5, 1, 0, 0, 0");
  EXPECT_EQ(counted("\tcall\tasinf@PLT\n"), "25, 0, 5, 9, 0, 0, 0, 1, 0, 0, 0");
}

TEST(Assembly, SharedArraysAreNamedAndTheirStorageIsMade) {
  const std::string arm = "\tadrp\tx0, :gottprel:tile\n\tldr\tx0, [x0, #:gottprel_lo12:tile]\n";
  const std::string x86 = "\tmovq\ttile@gottpoff(%rip), %rax\n";
  for (const std::string& edited :
       {sim::edit_assembly(arm, {}, *sim::arm64()), sim::edit_assembly(x86, {}, *sim::x86_64())})
    EXPECT_NE(edited.find("\t.weak tile\n"), std::string::npos) << edited;
}

TEST(Assembly, ALongNameOfASharedArrayIsKeptWhileItsLineGrows) {  // without the copy of the name, ASan reports it
  const std::string name(200, 'a'),
      edited = sim::edit_assembly(
          "\t.section .tbss\n" + name + ":\n\t.zero 4\n\t.text\n\tmovq " + name + "@gottpoff(%rip), %rax\n", {},
          *sim::x86_64());
  EXPECT_NE(edited.find("\t.balign 16\n" + name + ":\n"), std::string::npos) << edited;
}

TEST(Assembly, KernelsCopiesAreObserved) {
  EXPECT_NE(sim::edit_assembly("\t.type k, %function\nk:\n\tbl\tmemcpy\n", {}, *sim::arm64()).find("bl\tsim_memcpy"),
            std::string::npos);
  EXPECT_NE(
      sim::edit_assembly("\t.type k, @function\nk:\n\tcall\tmemcpy@PLT\n", {}, *sim::x86_64()).find("sim_memcpy@PLT"),
      std::string::npos);
}

TEST(Assembly, StrtolOfANewerGlibcIsObserved) {  // __isoc23_strtol, from 2.38 on
  const std::string edited = sim::edit_assembly(
      "\t.type k, @function\nk:\n\tcall\t__isoc23_strtol@PLT\n\tmovq\t__isoc23_strtoull@GOTPCREL(%rip), %rax\n", {},
      *sim::x86_64());
  EXPECT_NE(edited.find("call\tsim_strtol@PLT"), std::string::npos) << edited;
  EXPECT_NE(edited.find("sim_strtoull@GOTPCREL"), std::string::npos) << edited;
}

}  // namespace
