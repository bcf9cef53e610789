/* Preloaded into a program, it has one call fail that writes, syncs, maps, renames or removes below a directory.
 *
 * FAIL_BELOW: the directory. FAIL_KIND: which calls are counted: sync, write, size, map, name or remove.
 * FAIL_CALL: the one that fails, counted from 1; 0 for none. FAIL_ERROR: its errno, or "short": half of a write is done and said
 * to be, or "torn": half of it is done, and it fails with EIO.
 * FAIL_REPORT: a file of 64 KiB that is mapped: a line with the number of calls, and one with the call that has failed, or, where
 * none is to, one for each with its name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REPORT_BYTES = 65536, COUNT_BYTES = 16 };
enum outcome { REAL, FAILS, SHORT, TORN };

static const char *below = "", *kind = "", *error = "";
static long failing, count, named_bytes;
static char *report;

__attribute__((constructor)) static void begin(void) {
    const char *call = getenv("FAIL_CALL"), *path = getenv("FAIL_REPORT");
    if (!call || !path || !getenv("FAIL_BELOW") || !getenv("FAIL_KIND")) return;
    below = getenv("FAIL_BELOW"), kind = getenv("FAIL_KIND"), error = getenv("FAIL_ERROR") ? getenv("FAIL_ERROR") : "5";
    failing = atol(call);
    int fd = open(path, O_RDWR);
    void *(*map)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
    if (fd >= 0) report = map(NULL, REPORT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (report == MAP_FAILED) report = NULL;
}

/* What happens to this call of `name` on `path`, or on the file `fd` where that is NULL. */
static enum outcome outcome_of(const char *own_kind, const char *name, const char *path, int fd) {
    char found[4096], link[64];
    if (!report || strcmp(kind, own_kind)) return REAL;
    if (!path && fd >= 0) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, found, sizeof found - 1);
        if (length < 0) return REAL;
        found[length] = 0;
        path = found;
    }
    /* A mapping has no name: msync is counted wherever it is. */
    if (path && strncmp(path, below, strlen(below))) return REAL;
    long own = __sync_add_and_fetch(&count, 1);
    snprintf(report, COUNT_BYTES, "%ld\n", count);
    if (!failing) {
        long length = strlen(name) + 1, at = COUNT_BYTES + __sync_fetch_and_add(&named_bytes, length);
        if (at + length <= REPORT_BYTES) memcpy(report + at, name, length - 1), report[at + length - 1] = '\n';
    }
    if (own != failing) return REAL;
    snprintf(report + COUNT_BYTES, REPORT_BYTES - COUNT_BYTES, "%s %.4000s\n", name, path ? path : "of a mapping");
    if (!strcmp(error, "short")) return SHORT;
    errno = !strcmp(error, "torn") ? EIO : atoi(error);
    return !strcmp(error, "torn") ? TORN : FAILS;
}

#define NEXT(name) __typeof__(name) *next = dlsym(RTLD_NEXT, #name)
#define FAILS_AS(own_kind, name, path, fd, failed) \
    do { \
        if (outcome_of(own_kind, name, path, fd) != REAL) return failed; \
    } while (0)

int fsync(int fd) { NEXT(fsync); FAILS_AS("sync", "fsync", NULL, fd, -1); return next(fd); }
int fdatasync(int fd) { NEXT(fdatasync); FAILS_AS("sync", "fdatasync", NULL, fd, -1); return next(fd); }
int msync(void *at, size_t length, int flags) { NEXT(msync); FAILS_AS("sync", "msync", NULL, -1, -1); return next(at, length, flags); }

#define WRITES(name, parameters, arguments, half) \
    ssize_t name parameters { \
        NEXT(name); \
        int failed; \
        switch (outcome_of("write", #name, NULL, fd)) { \
        case REAL: return next arguments; \
        case SHORT: return length > 1 ? next half : next arguments; \
        case TORN: failed = errno; if (length > 1) (void)!next half; errno = failed; return -1; \
        default: return -1; \
        } \
    }
WRITES(write, (int fd, const void *bytes, size_t length), (fd, bytes, length), (fd, bytes, length / 2))
WRITES(pwrite, (int fd, const void *bytes, size_t length, off_t at), (fd, bytes, length, at), (fd, bytes, length / 2, at))
WRITES(pwrite64, (int fd, const void *bytes, size_t length, off64_t at), (fd, bytes, length, at), (fd, bytes, length / 2, at))

int ftruncate(int fd, off_t length) { NEXT(ftruncate); FAILS_AS("size", "ftruncate", NULL, fd, -1); return next(fd, length); }
int ftruncate64(int fd, off64_t length) { NEXT(ftruncate64); FAILS_AS("size", "ftruncate64", NULL, fd, -1); return next(fd, length); }
/* They return the error. */
int posix_fallocate(int fd, off_t at, off_t length) { NEXT(posix_fallocate); FAILS_AS("size", "posix_fallocate", NULL, fd, errno); return next(fd, at, length); }
int posix_fallocate64(int fd, off64_t at, off64_t length) { NEXT(posix_fallocate64); FAILS_AS("size", "posix_fallocate64", NULL, fd, errno); return next(fd, at, length); }

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
    NEXT(mmap);
    if (fd >= 0) FAILS_AS("map", "mmap", NULL, fd, MAP_FAILED);
    return next(at, length, protection, flags, fd, offset);
}
void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset) {
    NEXT(mmap64);
    if (fd >= 0) FAILS_AS("map", "mmap64", NULL, fd, MAP_FAILED);
    return next(at, length, protection, flags, fd, offset);
}

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        NEXT(name); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        if (flags & O_CREAT) FAILS_AS("name", #name, path, -1, -1); \
        return next(path, flags, mode); \
    }
OPENS(open)
OPENS(open64)
int mkdir(const char *path, mode_t mode) { NEXT(mkdir); FAILS_AS("name", "mkdir", path, -1, -1); return next(path, mode); }
int rename(const char *from, const char *to) { NEXT(rename); FAILS_AS("name", "rename", from, -1, -1); return next(from, to); }
int linkat(int at, const char *from, int to_at, const char *to, int flags) { NEXT(linkat); FAILS_AS("name", "linkat", from, -1, -1); return next(at, from, to_at, to, flags); }

int unlink(const char *path) { NEXT(unlink); FAILS_AS("remove", "unlink", path, -1, -1); return next(path); }
int unlinkat(int at, const char *path, int flags) { NEXT(unlinkat); FAILS_AS("remove", "unlinkat", path, -1, -1); return next(at, path, flags); }
int rmdir(const char *path) { NEXT(rmdir); FAILS_AS("remove", "rmdir", path, -1, -1); return next(path); }
