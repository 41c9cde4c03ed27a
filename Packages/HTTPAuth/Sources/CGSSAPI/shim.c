#include "CGSSAPI.h"

// The layout that the library expects on 64-bit Linux. Elsewhere on Linux the structures are not packed either.
#if UINTPTR_MAX == UINT64_MAX
_Static_assert(sizeof(netkit_gss_buffer) == 16, "gss_buffer_desc");
_Static_assert(sizeof(netkit_gss_oid) == 16, "gss_OID_desc");
_Static_assert(sizeof(netkit_gss_oid_set) == 16, "gss_OID_set_desc");
_Static_assert(sizeof(netkit_gss_channel_bindings) == 64, "gss_channel_bindings_struct");
_Static_assert(offsetof(netkit_gss_channel_bindings, application_data) == 48, "gss_channel_bindings_struct");
_Static_assert(sizeof(netkit_gss_store_element) == 16, "gss_key_value_element_desc");
_Static_assert(sizeof(netkit_gss_store) == 16, "gss_key_value_set_desc");
#endif

static unsigned char kerberos[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02};
static unsigned char hostBasedService[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x01, 0x04};
static unsigned char kerberosPrincipal[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02, 0x01};

netkit_gss_oid *netkit_gss_kerberos(void) {
    static netkit_gss_oid oid = {sizeof(kerberos), kerberos};
    return &oid;
}

netkit_gss_oid *netkit_gss_host_based_service(void) {
    static netkit_gss_oid oid = {sizeof(hostBasedService), hostBasedService};
    return &oid;
}

netkit_gss_oid *netkit_gss_kerberos_principal(void) {
    static netkit_gss_oid oid = {sizeof(kerberosPrincipal), kerberosPrincipal};
    return &oid;
}
