/* LD_PRELOAD: a disk that fills up or fails, files that stall and a clock that jumps, as one mapped file says.
 *
 * The file named by TORTURE_FAULTS is an array of 64-bit numbers, then two paths; torture/faults.py has the same
 * layout. All processes that inherit the environment share it, so that calls are counted over all of them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { CALLS, FAIL_FROM, FAIL_TO, FAIL_ERRNO, FAILED, CLOCK_NS, JITTER_NS, STALL_MS, STALLED, CLOCK_CALLS, STAT_MS, ASLEEP_NS };
enum { WHERE_NUMBERS = 0, WHERE_BELOW = 128, WHERE_STALL = 128 + 1024, CONTROL_BYTES = 4096 };

static volatile int64_t *control;
static const char *below, *stalled;

__attribute__((constructor)) static void map_control(void) {
    const char *path = getenv("TORTURE_FAULTS");
    int fd = path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    void *page = mmap(NULL, CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (page == MAP_FAILED)
        return;
    below = (const char *)page + WHERE_BELOW;
    stalled = (const char *)page + WHERE_STALL;
    control = page;
}

#define NEXT(name) ({ static __typeof__(&name) found; if (!found) found = (__typeof__(&name))dlsym(RTLD_NEXT, #name); found; })

static int is_below(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return length && strncmp(path, folder, length) == 0;
}

/* the absolute path of a name given to openat and the like; 0 if it cannot be told */
static int full_path(int at, const char *name, char *into) {
    char link[64];
    ssize_t length;
    if (name == NULL)
        return 0;
    if (name[0] == '/')
        return snprintf(into, PATH_MAX, "%s", name) < PATH_MAX;
    if (at == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/self/cwd");
    else
        snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    length = syscall(SYS_readlinkat, AT_FDCWD, link, into, PATH_MAX - 1);
    if (length < 0)
        return 0;
    return snprintf(into + length, PATH_MAX - length, "/%s", name) < PATH_MAX - length;
}

static int path_of(int fd, char *into) {
    char link[64];
    struct stat facts;
    if (syscall(SYS_fstat, fd, &facts) || !S_ISREG(facts.st_mode))
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, into, PATH_MAX - 1);
    if (length < 0)
        return 0;
    into[length] = 0;
    return 1;
}

/* count a call that writes: 0 goes ahead, above 0 is the error to give, -1 a short write */
static int fault_at(const char *path) {
    if (!is_below(path, below))
        return 0;
    int64_t call = __atomic_add_fetch(&control[CALLS], 1, __ATOMIC_SEQ_CST);
    if (!control[FAIL_FROM] || call < control[FAIL_FROM] || call > control[FAIL_TO])
        return 0;
    __atomic_add_fetch(&control[FAILED], 1, __ATOMIC_SEQ_CST);
    return (int)control[FAIL_ERRNO];
}

static int fault_of(int fd) {
    char path[PATH_MAX];
    int saved = errno, fault = 0;
    if (control != NULL && below[0] && path_of(fd, path))
        fault = fault_at(path);
    errno = saved;
    return fault;
}

static int fault_named(int at, const char *name) {
    char path[PATH_MAX];
    int saved = errno, fault = 0;
    if (control != NULL && below[0] && full_path(at, name, path))
        fault = fault_at(path);
    errno = saved;
    return fault > 0 ? fault : 0;
}

static int64_t real_clock(clockid_t id) {
    struct timespec now;
    syscall(SYS_clock_gettime, id, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* wait as a network file system would that does not answer, until the time is over or the attack ends it */
static void stall(const char *path, int field) {
    if (!is_below(path, stalled))
        return;
    __atomic_add_fetch(&control[STALLED], 1, __ATOMIC_SEQ_CST);
    int64_t start = real_clock(CLOCK_MONOTONIC);
    while (real_clock(CLOCK_MONOTONIC) - start < control[field] * 1000000LL) {
        struct timespec pause = {0, 20000000};
        syscall(SYS_nanosleep, &pause, NULL);
    }
}

static void stall_of(int fd) {
    char path[PATH_MAX];
    int saved = errno;
    if (control != NULL && control[STALL_MS] && path_of(fd, path))
        stall(path, STALL_MS);
    errno = saved;
}

static void stall_named(int at, const char *name, int field) {
    char path[PATH_MAX];
    int saved = errno;
    if (control != NULL && control[field] && full_path(at, name, path))
        stall(path, field);
    errno = saved;
}

/* ---- the disk */

#define GIVE(fault) do { int given = (fault); if (given > 0) { errno = given; return -1; } } while (0)

#define WRITER(name, arguments, call, short_call)                                                                     \
    ssize_t name arguments {                                                                                          \
        int fault = fault_of(fd);                                                                                     \
        GIVE(fault);                                                                                                  \
        if (fault < 0 && size > 1)                                                                                    \
            return short_call;                                                                                        \
        return call;                                                                                                  \
    }

WRITER(write, (int fd, const void *data, size_t size), NEXT(write)(fd, data, size), NEXT(write)(fd, data, size / 2))
WRITER(pwrite, (int fd, const void *data, size_t size, off_t at), NEXT(pwrite)(fd, data, size, at),
       NEXT(pwrite)(fd, data, size / 2, at))
WRITER(pwrite64, (int fd, const void *data, size_t size, off64_t at), NEXT(pwrite64)(fd, data, size, at),
       NEXT(pwrite64)(fd, data, size / 2, at))

ssize_t writev(int fd, const struct iovec *parts, int n) {
    int fault = fault_of(fd);
    GIVE(fault);
    return NEXT(writev)(fd, parts, fault < 0 && n > 1 ? 1 : n);
}

#define SIMPLE(name, arguments, call) int name arguments { GIVE(fault_of(fd)); return call; }
SIMPLE(fsync, (int fd), NEXT(fsync)(fd))
SIMPLE(fdatasync, (int fd), NEXT(fdatasync)(fd))
SIMPLE(ftruncate, (int fd, off_t size), NEXT(ftruncate)(fd, size))
SIMPLE(ftruncate64, (int fd, off64_t size), NEXT(ftruncate64)(fd, size))
SIMPLE(fallocate, (int fd, int mode, off_t at, off_t size), NEXT(fallocate)(fd, mode, at, size))
SIMPLE(fallocate64, (int fd, int mode, off64_t at, off64_t size), NEXT(fallocate64)(fd, mode, at, size))

int posix_fallocate(int fd, off_t at, off_t size) {
    int fault = fault_of(fd);
    return fault > 0 ? fault : NEXT(posix_fallocate)(fd, at, size);
}

int posix_fallocate64(int fd, off64_t at, off64_t size) {
    int fault = fault_of(fd);
    return fault > 0 ? fault : NEXT(posix_fallocate64)(fd, at, size);
}

int rename(const char *old, const char *new) {
    GIVE(fault_named(AT_FDCWD, new));
    return NEXT(rename)(old, new);
}

int renameat(int old_at, const char *old, int new_at, const char *new) {
    GIVE(fault_named(new_at, new));
    return NEXT(renameat)(old_at, old, new_at, new);
}

int mkdir(const char *path, mode_t mode) {
    GIVE(fault_named(AT_FDCWD, path));
    return NEXT(mkdir)(path, mode);
}

int mkdirat(int at, const char *path, mode_t mode) {
    GIVE(fault_named(at, path));
    return NEXT(mkdirat)(at, path, mode);
}

/* a full disk has no room for a new file; a file system that is read-only opens nothing for writing */
static int open_fault(int at, const char *path, int flags) {
    if (control == NULL)
        return 0;
    stall_named(at, path, STALL_MS);
    int writes = (flags & O_ACCMODE) != O_RDONLY;
    int creates = (flags & O_CREAT) && syscall(SYS_faccessat, at, path, F_OK) != 0;
    if (creates || (writes && control[FAIL_ERRNO] == EROFS))
        return fault_named(at, path);
    return 0;
}

#define MODE_OF(flags) mode_t mode = 0; if ((flags) & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }
#define OPENER(name) int name(const char *path, int flags, ...) { MODE_OF(flags) GIVE(open_fault(AT_FDCWD, path, flags)); return NEXT(name)(path, flags, mode); }
#define OPENER_AT(name) int name(int at, const char *path, int flags, ...) { MODE_OF(flags) GIVE(open_fault(at, path, flags)); return NEXT(name)(at, path, flags, mode); }
OPENER(open)
OPENER(open64)
OPENER_AT(openat)
OPENER_AT(openat64)

static int fopen_fault(const char *path, const char *mode) {
    int writes = strpbrk(mode, "wa+") != NULL;
    return open_fault(AT_FDCWD, path, writes ? O_RDWR | (mode[0] == 'r' ? 0 : O_CREAT) : O_RDONLY);
}

#define FOPENER(name) FILE *name(const char *path, const char *mode) { int fault = fopen_fault(path, mode); if (fault > 0) { errno = fault; return NULL; } return NEXT(name)(path, mode); }
FOPENER(fopen)
FOPENER(fopen64)

/* ---- files that stall */

ssize_t read(int fd, void *into, size_t size) { stall_of(fd); return NEXT(read)(fd, into, size); }
ssize_t pread(int fd, void *into, size_t size, off_t at) { stall_of(fd); return NEXT(pread)(fd, into, size, at); }
ssize_t pread64(int fd, void *into, size_t size, off64_t at) { stall_of(fd); return NEXT(pread64)(fd, into, size, at); }
int stat(const char *path, struct stat *facts) { stall_named(AT_FDCWD, path, STAT_MS); return NEXT(stat)(path, facts); }
int stat64(const char *path, struct stat64 *facts) { stall_named(AT_FDCWD, path, STAT_MS); return NEXT(stat64)(path, facts); }
int lstat(const char *path, struct stat *facts) { stall_named(AT_FDCWD, path, STAT_MS); return NEXT(lstat)(path, facts); }
int lstat64(const char *path, struct stat64 *facts) { stall_named(AT_FDCWD, path, STAT_MS); return NEXT(lstat64)(path, facts); }
int fstatat(int at, const char *path, struct stat *facts, int flags) { stall_named(at, path, STAT_MS); return NEXT(fstatat)(at, path, facts, flags); }
int fstatat64(int at, const char *path, struct stat64 *facts, int flags) { stall_named(at, path, STAT_MS); return NEXT(fstatat64)(at, path, facts, flags); }

/* ---- the clock */

static int64_t shift(void) {
    if (control == NULL)
        return 0;
    int64_t shift = control[CLOCK_NS], jitter = control[JITTER_NS];
    if (!shift && !jitter)
        return 0;
    uint64_t call = __atomic_add_fetch(&control[CLOCK_CALLS], 1, __ATOMIC_SEQ_CST);
    if (jitter)
        shift += (int64_t)((call * 0x9E3779B97F4A7C15ull) >> 1) % jitter - jitter / 2;
    return shift;
}

static void split(int64_t ns, struct timespec *into) {
    into->tv_sec = ns / 1000000000LL;
    into->tv_nsec = ns % 1000000000LL;
    if (into->tv_nsec < 0) {
        into->tv_nsec += 1000000000LL;
        into->tv_sec--;
    }
}

static int64_t fake_clock(void) { return real_clock(CLOCK_REALTIME) + shift(); }

int clock_gettime(clockid_t id, struct timespec *now) {
    if (control != NULL && id == CLOCK_BOOTTIME && control[ASLEEP_NS]) { /* as if the computer had slept */
        split(real_clock(CLOCK_BOOTTIME) + control[ASLEEP_NS], now);
        return 0;
    }
    if (control == NULL || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
        return NEXT(clock_gettime)(id, now);
    split(fake_clock(), now);
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec exact;
    split(fake_clock(), &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *into) {
    struct timespec exact;
    split(fake_clock(), &exact);
    if (into != NULL)
        *into = exact.tv_sec;
    return exact.tv_sec;
}

/* Waits until a time of day: the kernel does not know the shifted clock, so they are cut into slices. */
enum { SLICE_NS = 50000000 };

static int64_t ns_of(const struct timespec *at) { return at->tv_sec * 1000000000LL + at->tv_nsec; }

static int slice_until(const struct timespec *deadline, struct timespec *slice) {
    int64_t left = ns_of(deadline) - fake_clock();
    split(real_clock(CLOCK_REALTIME) + (left < SLICE_NS ? (left > 0 ? left : 0) : SLICE_NS), slice);
    return left > 0;
}

int sem_timedwait(sem_t *semaphore, const struct timespec *deadline) {
    struct timespec slice;
    int is_early;
    if (control == NULL || (!control[CLOCK_NS] && !control[JITTER_NS]))
        return NEXT(sem_timedwait)(semaphore, deadline);
    do {
        is_early = slice_until(deadline, &slice);
        if (NEXT(sem_timedwait)(semaphore, &slice) == 0)
            return 0;
    } while (errno == ETIMEDOUT && is_early);
    return -1;
}
