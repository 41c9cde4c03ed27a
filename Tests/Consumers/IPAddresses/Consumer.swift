import IPAddresses

/// Parses and classifies addresses.
@main struct Consumer {
    static func main() {
        let (six, four) = (IPAddress("fe80::1%eth0")!, IPAddress("192.0.2.7")!)
        let short = IPAddress("127.1").map { "\($0)" } ?? "127.1 is no address"
        print("\(six)\(six.isLinkLocal ? " link-local" : ""), \(four) \(four.family == .v4 ? "v4" : "v6"), \(short)")
    }
}
