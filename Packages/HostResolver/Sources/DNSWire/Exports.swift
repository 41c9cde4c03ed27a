// The data of address records are IPv4Address and IPv6Address. Users of this module alone need one import.
@_exported public import IPAddresses
