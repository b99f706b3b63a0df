// The machine's devices: how many there are, which one is current, who may access whose memory, and what the links
// between them carry. The caller holds runtime_mutex, but for the first two functions.
#pragma once

#include <cstdint>
#include <string>

namespace sim {

struct allocation;
struct launched;

constexpr int most_devices = 8;
/// SIM_DEVICES, of those that CUDA_VISIBLE_DEVICES names.
int device_count();
/// Of this host thread; in a kernel, the one that runs it.
int current_device();
bool is_device(int device);
void set_current_device(int device);
/// Its number in the machine, whatever CUDA_VISIBLE_DEVICES says.
int number_in_machine(int device);
/// The next kernel runs on this device, whose own copies of the program's variables are in their place.
void set_device_at_work(int device);
/// Puts the device's own copies of the program's __device__ and __constant__ variables in their place.
void bring_variables_of(int device);

/// Whether the devices are linked, so that peer access can be enabled.
bool are_linked(int device, int other);
bool has_peer_access(int device, int other);
void set_peer_access(int device, int other, bool enabled);
/// The same for what cudaMallocAsync allocates on `other`.
bool has_pool_access(int device, int other);
void set_pool_access(int device, int other, bool enabled);
/// Whether kernels and libraries of this device may access it.
bool may_access(int device, const allocation& what);
/// "device 1's memory …: …": why they may not, and what to do.
std::string why_not(int device, const allocation& what);

enum class link_use : std::uint8_t { copy, kernel, collective };
/// Adds to what has gone from one device's memory to another device.
void count_link(int from, int to, link_use what, double bytes);
/// The same, by the devices' numbers in the machine: another process may use one of them.
void count_link_of_machine(int from, int to, link_use what, double bytes);
/// Counts what a kernel has loaded from and stored to other devices' memory, in `what`, too. Returns how long that
/// takes, in seconds.
double count_links(launched& what);
/// The seconds that bytes take from one device to another: by their link or, without peer access, through the host.
double link_seconds(int from, int to, double bytes);
/// The account's lines; empty if nothing has gone from device to device.
std::string link_table();

}  // namespace sim
