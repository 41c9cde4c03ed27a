#ifndef NETKIT_BENCH_OWNED_H
#define NETKIT_BENCH_OWNED_H

#include <stdlib.h>
#include <string.h>

enum { most_fields = 64, most_bytes = 1 << 20 };

/// A decoded head that owns its bytes, in one allocation: positions, then names and values.
struct owned {
    size_t field_count;
    struct {
        unsigned name, value, end;
    } positions[];
};

/// The fields of a head that is being decoded.
static struct {
    size_t field_count, used;
    unsigned positions[3 * most_fields];
    char bytes[most_bytes];
} arriving;

static inline void begin_owned(void) { arriving.field_count = arriving.used = 0; }

static inline void add_owned(const void *name, size_t name_length, const void *value, size_t value_length) {
    unsigned *position = arriving.positions + 3 * arriving.field_count++;
    position[0] = (unsigned)arriving.used;
    memcpy(arriving.bytes + arriving.used, name, name_length);
    position[1] = (unsigned)(arriving.used += name_length);
    memcpy(arriving.bytes + arriving.used, value, value_length);
    position[2] = (unsigned)(arriving.used += value_length);
}

static inline struct owned *make_owned(void) {
    size_t index_size = sizeof(struct owned) + 3 * arriving.field_count * sizeof(unsigned);
    struct owned *owned = malloc(index_size + arriving.used);
    owned->field_count = arriving.field_count;
    memcpy(owned->positions, arriving.positions, 3 * arriving.field_count * sizeof(unsigned));
    memcpy((char *)owned + index_size, arriving.bytes, arriving.used);
    __asm__ volatile("" : : "r"(owned) : "memory"); // marks the result as used
    return owned;
}

#endif
