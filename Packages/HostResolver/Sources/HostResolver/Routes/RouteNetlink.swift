/// The constants of `linux/rtnetlink.h` in use here. Swift's Glibc module does not include that header.
enum RouteNetlink {
    /// `NETLINK_ROUTE`
    static let family: Int32 = 0

    static let newLink: UInt16 = 16
    static let deleteLink: UInt16 = 17
    static let newAddress: UInt16 = 20
    static let deleteAddress: UInt16 = 21
    static let newRoute: UInt16 = 24
    static let deleteRoute: UInt16 = 25
    static let getRoute: UInt16 = 26
    static let getLink: UInt16 = 18
    static let getAddress: UInt16 = 22
    static let newNeighbor: UInt16 = 28
    static let getNeighbor: UInt16 = 30

    /// `NLMSG_ERROR`
    static let error: UInt16 = 2
    /// `NLMSG_DONE`
    static let done: UInt16 = 3
    /// `NLM_F_REQUEST`
    static let request: UInt16 = 1
    /// `NLM_F_DUMP`
    static let dump: UInt16 = 0x300

    /// `RTMGRP_LINK`, and addresses and routes of both families.
    static let changeGroups: UInt32 = 1 | 0x10 | 0x40 | 0x100 | 0x400
    /// `RTMGRP_IPV4_IFADDR` and `RTMGRP_IPV6_IFADDR`
    static let addressGroups: UInt32 = 0x10 | 0x100

    /// `sizeof(struct rtmsg)`
    static let routeHeaderSize = 12
    static let destination: UInt16 = 1
    static let outputInterface: UInt16 = 4
    static let gateway: UInt16 = 5
    static let preferredSource: UInt16 = 7
    static let via: UInt16 = 18
    static let routeMetric: UInt16 = 6
    static let routeTable: UInt16 = 15

    /// `IFLA_IFNAME`, `IFLA_MTU`
    static let linkName: UInt16 = 3
    static let linkPacketSize: UInt16 = 4

    /// `IFA_ADDRESS`, `IFA_LOCAL`, `IFA_CACHEINFO`, `IFA_FLAGS`
    static let interfaceAddress: UInt16 = 1
    static let localAddress: UInt16 = 2
    static let addressTimes: UInt16 = 6
    static let addressFlags: UInt16 = 8

    /// `NDA_DST`
    static let neighborAddress: UInt16 = 1

    /// `RTNH_F_DEAD | RTNH_F_LINKDOWN`
    static let deadFlags: UInt32 = 1 | 16
}
