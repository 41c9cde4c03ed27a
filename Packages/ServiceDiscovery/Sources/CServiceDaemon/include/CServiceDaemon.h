// The part of dns_sd.h that this package uses. The library is loaded at run time, so a program that uses only the
// embedded engine needs neither the library nor its header. Where the header is installed, the compiler checks that the
// declarations agree.
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef struct _DNSServiceRef_t *netkit_daemon_ref;
typedef struct _DNSRecordRef_t *netkit_daemon_record;

typedef void (*netkit_daemon_register_reply)(
    netkit_daemon_ref ref, uint32_t flags, int32_t error, const char *name, const char *type, const char *domain,
    void *context);
typedef void (*netkit_daemon_record_reply)(
    netkit_daemon_ref ref, uint32_t flags, uint32_t interface, int32_t error, const char *name, uint16_t type,
    uint16_t record_class, uint16_t length, const void *data, uint32_t time_to_live, void *context);

// The functions of the library. In Avahi's, `reconfirm` is null and `is_avahi` true, because it lacks half of the header.
typedef struct {
    int32_t (*begin_registration)(
        netkit_daemon_ref *ref, uint32_t flags, uint32_t interface, const char *name, const char *type,
        const char *domain, const char *host, uint16_t port, uint16_t length, const void *text,
        netkit_daemon_register_reply reply, void *context);
    int32_t (*update_record)(
        netkit_daemon_ref ref, netkit_daemon_record record, uint32_t flags, uint16_t length, const void *data,
        uint32_t time_to_live);
    int32_t (*query_record)(
        netkit_daemon_ref *ref, uint32_t flags, uint32_t interface, const char *name, uint16_t type,
        uint16_t record_class, netkit_daemon_record_reply reply, void *context);
    int32_t (*reconfirm)(
        uint32_t flags, uint32_t interface, const char *name, uint16_t type, uint16_t record_class, uint16_t length,
        const void *data);
    int32_t (*process_result)(netkit_daemon_ref ref);
    int (*descriptor)(netkit_daemon_ref ref);
    void (*deallocate)(netkit_daemon_ref ref);
    bool is_avahi;
} netkit_daemon;

// Loads the library of the system for the rest of the process; false if there is none. Call once.
bool netkit_daemon_load(netkit_daemon *functions);
