"""Checks the stop signs of the handouts: each one's points, by the grading table, and its minutes, which are at most 90
and add up to the lab's hours.  usage: stop_signs_test.py SOURCE"""
import fnmatch
import pathlib
import re
import sys

# What is graded before each sign: `+` marks an item that needs a GPU, `=12` a part of an item's points.
BEFORE = {
    "00": ["predictions", "twice_*", "add_correct", "outer_product_*", "neighbours_*", "row_sums_*", "add_twice_*",
           "sum_*"],
    "01": ["*_predicted flops_* transformer_*", "memory_* formats_*", "planning_*",
           "host_peaks_* device_peaks_* copy_wide fma_* triad_* +copy_throughput"],
    "02": ["naive_* google_predicted mlp_* lies_*",
           "asynchronous slow_first_call lazy_* cache_* memoizing page_faults drifting_clock outlier_* below_* "
           "optimized_* second_stream input_* throttled launch_* combined",
           "steady two_costs warm_wanted slow_work noisy lower_clock", "real sampling_*", "google_* two_versions", ""],
    "03": ["predictions sigmoid_* vectorized_* points_*",
           "tiled_* padded_* transpose_correct transpose_clean +transpose_throughput", "column_sums_*"],
    "04": ["predictions=18 gelu_correct gelu_fused +gelu_throughput",
           "predictions sin2_* bias_* layernorm_correct layernorm_fused softmax_correct softmax_fused "
           "+layernorm_throughput +softmax_throughput", "gelu_host_*"],
    "05": ["predictions sides_* forward_correct backward_correct backward_digits *_lean +forward_throughput "
           "+backward_throughput", "checkpoints_*", "backpropagate_* budget_*", "", "chain_host_*"],
    "06": ["predictions=5 listing_* coalesced_* tiled_* one_d_*", "predictions two_d_* vectorized_* pipelined_*",
           "warptiled_* sgemm_correct sgemm_traffic +sgemm_throughput", "gemm_*", "blas_*", "fits_* tune_*"],
    "07": ["predictions tiles_* occupancy_* waves_* utilization_* seconds_* cliffs_* best_*",
           "pad_* unpad_* gemm_correct gemm_launches gemm_aligned +gemm_throughput", "narrow_*"],
    "08": ["predictions ranges_*", "work_* bounds_* audit_*",
           "layer_norm_correct layer_norm_fused softmax_correct softmax_fused forward_* +layer_norm_throughput "
           "+softmax_throughput", "trace_*", "counters_*", "*_asked", "block_* attention_heads_* residual_norm_*"],
    "09": ["predictions=12 encode_* decode_* sum_* steps_* scaling_* groups_*", "matvec_* int8_* int4_*",
           "wmma_* mma_* predictions", "pipelined_* +gemm_throughput"],
    "10": ["predictions formulas_* host_*", "matvec_correct matvec_traffic norm_* append_* +matvec_throughput",
           "attend_*", "token_correct token_traffic generate_* +token_throughput", "reports_*"],
    "11": ["predictions tiles_* merge_* host_*", "fp32_* causal_traffic",
           "bf16_correct bf16_traffic causal_products +bf16_throughput",
           "decode_correct decode_traffic +decode_throughput"],
    "12": ["calls_* records_* load_* loader_* generate_* loop_*", "pool_*",
           "caches_* gpu_* attention_* totals_* false_*", "streaming_* forward_*"],
    "13": ["*_found=18", "*_found", "kv_* page_* row_sums_* head_* pad_* slot_*",
           "pick_* two_* row_norms_* tree_* group_* long_*", "prefix_*"],
    "14": ["predictions gelu_* layer_norm_correct layer_norm_lean +layer_norm_throughput",
           "cross_entropy_correct cross_entropy_lean +cross_entropy_throughput",
           "adamw_correct adamw_lean adamw_host_* +adamw_throughput", "choose_* training_* network_* profile_*"],
    "15": ["predictions advice_*", "batched_*", "scheduler_* pages_*",
           "paged_correct paged_traffic records_* +paged_throughput"],
}


def complaints(lab, handout, hours):
    """What is wrong with the stop signs of this handout."""
    table = handout[handout.index("<!-- grading table: begin -->"):]
    left = {item: int(points) for item, points in re.findall(r"^\| `(\w+)` \| (\d+) \|", table, re.M)}
    signs = [" ".join(sign.split()) for sign in re.findall(r"\*\*Stop sign\.\*\*([^\n]*(?:\n *> [^\n]*)*)", handout)]
    if len(signs) != len(BEFORE.get(lab, [])):
        return [f"{len(signs)} stop signs, but BEFORE in {sys.argv[0]} has {len(BEFORE.get(lab, []))}"]
    found, so_far, on_gpu, minutes = [], 0, 0, 0
    for sign, items in zip(signs, BEFORE[lab]):
        earned = gpu = 0
        for pattern in items.split():
            name, _, part = pattern.lstrip("+").partition("=")
            wanted = int(part) if part else 100
            for item in fnmatch.filter(left, name):
                points = min(left[item], wanted)
                left[item], wanted = left[item] - points, wanted - points
                earned, gpu = (earned, gpu + points) if pattern[0] == "+" else (earned + points, gpu)
        so_far, on_gpu = so_far + earned, on_gpu + gpu
        said = re.match(r"(Up to )?(\d+|No)( of 100| more) points?\b.*? after (?:another )?(\d+) minutes", sign)
        if not said:
            found.append(f"not a stop sign: {sign}")
            continue
        says = sum(map(int, re.findall(r"(?:^|and )(\d+) (?:more points|for predictions)", sign)))
        if said[1] and int(said[2]) != so_far or not said[1] and says != earned:
            found.append(f"{sign.split('.')[0]}: the items give {earned}, {so_far} so far")
        if sum(map(int, re.findall(r"and (\d+) (?:more )?on a GPU", sign))) != gpu:
            found.append(f"{sign.split('.')[0]}: the items give {gpu} on a GPU")
        if int(said[4]) > 90:
            found.append(f"{sign.split('.')[0]}: a sitting of more than 90 minutes")
        minutes += int(said[4])
    need_gpu = re.search(r"; (\d+) points need a GPU", handout)
    if on_gpu != int(need_gpu[1] if need_gpu else 0) or sum(left.values()) or so_far + on_gpu != 100:
        found.append(f"all signs: {so_far} points, {on_gpu} on a GPU; not counted: {[i for i in left if left[i]]}")
    if "That is all: 100 points" not in signs[-1]:
        found.append("the last sign does not say: That is all: 100 points")
    if not 60 * hours[0] <= minutes <= 60 * hours[-1]:
        found.append(f"all signs: {minutes} minutes; the lab takes {hours} hours")
    return found



labs = pathlib.Path(sys.argv[1]) / "labs"
bad, seen = [], 0
for file in sorted(labs.glob("[0-9][0-9]_*/README.md")):
    lab, text = file.parent.name[:2], file.read_text()
    seen += 1
    row = re.search(rf"^\| \[{lab} .*\| ([\d to]+) \|$", (labs / "README.md").read_text(), re.M)
    hours = [int(n) for n in row[1].split(" to ")]
    bad += [f"{file}: {what}" for what in complaints(lab, text, hours)]
    # The check must notice each wrong number.
    for sign in re.finditer(r"\*\*Stop sign\.\*\*[^\n]* minutes", text):
        for n in re.finditer(r"\b(?!100 points)\d+", sign[0]):
            at = sign.start() + n.start()
            if not complaints(lab, text[:at] + "1" + text[at:], hours):
                bad.append(f"{file}: not noticed: 1{n[0]} in {sign[0]}")
print(*bad, f"{seen} labs", sep="\n")
sys.exit(bool(bad))
