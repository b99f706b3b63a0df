// The machine's devices: their number, the current one, which may access another's memory, and the traffic on the links
// between them. The caller holds runtime_mutex, except for the first two functions.
#pragma once

#include <cstdint>
#include <string>

namespace sim {

struct allocation;
struct launched;

constexpr int most_devices = 8;
/// SIM_DEVICES, limited to the devices in CUDA_VISIBLE_DEVICES.
int device_count();
/// This host thread's device; in a kernel, the one that runs it.
int current_device();
bool is_device(int device);
void set_current_device(int device);
/// The device's number in the machine, whatever CUDA_VISIBLE_DEVICES says.
int number_in_machine(int device);
/// Makes the next kernel run on this device, with the device's own copies of the program's variables in place.
void set_device_at_work(int device);
/// Puts the device's own copies of the program's __device__ and __constant__ variables in place.
void bring_variables_of(int device);

/// Whether the devices are linked, so that peer access can be enabled.
bool are_linked(int device, int other);
bool has_peer_access(int device, int other);
void set_peer_access(int device, int other, bool enabled);
/// Whether `device` may access memory that cudaMallocAsync allocates on `other`.
bool has_pool_access(int device, int other);
void set_pool_access(int device, int other, bool enabled);
/// Whether this device's kernels and libraries may access the allocation.
bool may_access(int device, const allocation& what);
/// "device 1's memory …: …": why it may not, and what to do.
std::string why_not(int device, const allocation& what);

enum class link_use : std::uint8_t { copy, kernel, collective };
/// Adds to the traffic from one device's memory to another device.
void count_link(int from, int to, link_use what, double bytes);
/// The same, by the devices' numbers in the machine: another process may use one of them.
void count_link_of_machine(int from, int to, link_use what, double bytes);
/// Counts, also in `what`, the bytes that a kernel loaded from and stored to other devices' memory. Returns the time
/// for them in seconds.
double count_links(launched& what);
/// The time in seconds to move bytes between two devices: over their link or, without peer access, through the host.
double link_seconds(int from, int to, double bytes);
/// The lines of the summary; empty if devices exchanged nothing.
std::string link_table();

}  // namespace sim
