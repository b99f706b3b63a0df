#!/usr/bin/env bash
# Grades a small class through a real Slurm: starts munged, slurmctld and slurmd, and stops them afterwards. usage:
# slurm_test.sh GRADER SOURCE
set -euo pipefail
grader=$1 source=$2
for program in munged slurmctld slurmd sbatch sqlite3; do
  PATH=$PATH:/usr/sbin command -v $program >/dev/null || {
    echo "SKIPPED: no $program here; apt-get install slurmctld slurmd slurm-client munge sqlite3"
    exit 77
  }
done
((EUID == 0)) || { echo "SKIPPED: slurmd runs tasks as root only"; exit 77; }
PATH=$PATH:/usr/sbin
place=$(mktemp -d /tmp/slurm-test-XXXXXX)
chmod 755 "$place"
mkdir "$place"/{munge,state,spool,class}
stop() {
  for daemon in slurmctld slurmd munge/munged; do
    [[ -s $place/$daemon.pid ]] && kill "$(<"$place/$daemon.pid")" 2>/dev/null
  done
  wait
  sleep 1
  rm -rf "$place"
}
trap stop EXIT

head -c 1024 /dev/urandom >"$place/munge/key"
chmod 600 "$place/munge/key"
host=$(hostname -s)
port=$((20000 + RANDOM % 20000))
cat >"$place/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$place/munge/socket
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd.pid
SlurmctldLogFile=$place/slurmctld.log
SlurmdLogFile=$place/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,batch_sched_delay=1
ReturnToService=2
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=grade Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$place/slurm.conf
# munged keeps other users out of its files; here everything runs as root.
munged --socket="$place/munge/socket" --key-file="$place/munge/key" --log-file="$place/munge/munged.log" \
  --pid-file="$place/munge/munged.pid" --seed-file="$place/munge/seed" --force 2>/dev/null
slurmctld -f "$SLURM_CONF"
slurmd -f "$SLURM_CONF"
for _ in {1..30}; do
  sinfo -h -o %t 2>/dev/null | grep -q idle && break
  sleep 0.5
done
sinfo -h -o %t | grep -q idle || { cat "$place"/*.log; echo "the cluster does not come up"; exit 1; }

# A right submission, a wrong one, and a folder without hand-in files. The class is small: this tests the round trip through
# Slurm.
for who in ann bob; do
  mkdir "$place/class/$who"
  cp "$source"/solutions/03_coalescing/handin/* "$place/class/$who"
done
patch -s "$place/class/bob/column_sums.cpp" "$source"/solutions/03_coalescing/wrong/crashes.patch
mkdir "$place/class/cat"
"$grader" grade "$place/class" --lab 03 --jobs 2 --store "$place/grades.sqlite" --executor slurm
got=$(sqlite3 "$place/grades.sqlite" "SELECT submission, outcome FROM results ORDER BY submission")
want=$'ann|graded\nbob|graded\ncat|refused'
[[ $got == "$want" ]] || { printf 'got\n%s\nwanted\n%s\n' "$got" "$want"; exit 1; }
better=$(sqlite3 "$place/grades.sqlite" "SELECT (SELECT score FROM results WHERE submission = 'ann') >
  (SELECT score FROM results WHERE submission = 'bob')")
[[ $better == 1 ]] || { echo "the right submission has no more points than the wrong one"; exit 1; }
"$grader" grade "$place/class" --lab 03 --store "$place/grades.sqlite" --executor slurm | grep -q "0 graded.*3 already graded" ||
  { echo "a second run grades again"; exit 1; }
echo "3 submissions went through Slurm $(sinfo --version | cut -d' ' -f2)"
