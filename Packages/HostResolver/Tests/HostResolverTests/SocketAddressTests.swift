import Glibc
@_spi(Packages) import HostResolver
import Testing

@Suite struct SocketAddressTests {
    @Test(arguments: [
        "192.0.2.7:80", "0.0.0.0:0", "[::1]:443", "[2001:db8::1]:65535", "[fe80::1%lo]:9",
    ])
    func roundTripsThroughSockAddr(text: String) throws {
        let address = try #require(SocketAddress(text))
        #expect(address.description == text)
        #expect(try SocketAddress(sockaddr: address.sockaddrBytes) == address)
    }

    @Test(arguments: [
        "", ":", "1.2.3.4", "1.2.3.4:", "1.2.3.4:65536", "1.2.3.4:-1", "1.2.3.4:+1", "::1:80", "[::1]", "[1.2.3.4]:1",
    ])
    func rejectsInvalidText(text: String) {
        #expect(SocketAddress(text) == nil)
    }

    @Test func laysOutIPv4AsTheKernelDoes() throws {
        let bytes = SocketAddress("1.2.3.4:258")!.sockaddrBytes
        #expect(bytes == [UInt8(AF_INET), 0, 1, 2, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test func rejectsShortAndLongSockAddrs() {
        for text in ["1.2.3.4:5", "[::1]:5"] {
            let whole = SocketAddress(text)!.sockaddrBytes
            for length in 0..<whole.count {
                #expect(throws: ResolverError.self) { try SocketAddress(sockaddr: Array(whole.prefix(length))) }
            }
        }
        #expect(throws: ResolverError.self) { try SocketAddress(sockaddr: [UInt8](repeating: 3, count: 129)) }
    }

    @Test func keepsOtherFamilies() throws {
        let bytes: [UInt8] = [UInt8(AF_NETLINK), 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
        let address = try SocketAddress(sockaddr: bytes)
        #expect(address == .other(bytes))
        #expect(address.family == AF_NETLINK)
        #expect(address.sockaddrBytes == bytes)
        #expect(address.port == nil && address.ipAddress == nil)
    }

    @Test func anUnknownZoneReachesNoInterface() throws {
        let address = SocketAddress.ip(IPAddress("fe80::1%nosuchif")!, port: 1)
        let index = address.withSockAddr { pointer, _ in
            UnsafeRawPointer(pointer).loadUnaligned(as: sockaddr_in6.self).sin6_scope_id
        }
        #expect(index == UInt32(Int32.max))
        #expect(try SocketAddress(sockaddr: address.sockaddrBytes).description == "[fe80::1%2147483647]:1")
    }

    @Test(arguments: [("192.0.2.7:80", true), ("[fe80::1%lo]:9", true), ("", false)])
    func theSizeOfAPointerFollowsFromItsFamily(_ text: String, _ isIP: Bool) throws {
        let address = SocketAddress(text) ?? .unix(.unnamed)
        #expect(address.withSockAddr { pointer, _ in SocketAddress(ip: pointer) } == (isIP ? address : nil))
    }

    @Test func namesZones() throws {
        let index = if_nametoindex("lo")
        #expect(index != 0)
        let byNumber = SocketAddress.ip(IPAddress("fe80::1%\(index)")!, port: 1)
        #expect(try SocketAddress(sockaddr: byNumber.sockaddrBytes).description == "[fe80::1%lo]:1")
    }

    @Test func bindsUnixSocketsOfAllKinds() throws {
        let path = "/tmp/hostresolver-\(getpid()).sock"
        unlink(path)
        defer { unlink(path) }
        let addresses = [
            try UnixSocketAddress(path: path), try UnixSocketAddress(abstractName: "hostresolver-\(getpid())"),
        ]
        for unix in addresses {
            let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            let address = SocketAddress.unix(unix)
            #expect(address.withSockAddr { bind(descriptor, $0, $1) } == 0)
            #expect(try boundAddress(of: descriptor) == address)
        }
        let unbound = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(unbound) }
        #expect(try boundAddress(of: unbound) == .unix(.unnamed))
    }

    @Test(arguments: [0, 108, 4000])
    func rejectsUnixNamesThatDoNotFit(length: Int) {
        let name = String(repeating: "x", count: length)
        #expect(throws: ResolverError.self) { try UnixSocketAddress(path: name) }
        #expect(throws: ResolverError.self) { try UnixSocketAddress(abstractName: name) }
    }

    @Test func acceptsTheLongestUnixNames() throws {
        let name = String(repeating: "x", count: UnixSocketAddress.maximumNameLength)
        for address in [try UnixSocketAddress(path: name), try UnixSocketAddress(abstractName: name)] {
            #expect(try SocketAddress(sockaddr: SocketAddress.unix(address).sockaddrBytes) == .unix(address))
        }
        #expect(throws: ResolverError.self) { try UnixSocketAddress(path: "a\0b") }
        #expect(try UnixSocketAddress(abstractName: "a\0b").description == "@a\0b")
    }

    @Test func survivesRandomSockAddrs() {
        var random = SeededRandom(seed: 2)
        for _ in 0..<10_000 {
            var bytes = random.bytes(upTo: 140)
            if bytes.count > 1, Bool.random(using: &random) {
                bytes[0] = [UInt8(AF_INET), UInt8(AF_INET6), UInt8(AF_UNIX)].randomElement(using: &random)!
                bytes[1] = 0
            }
            guard let address = try? SocketAddress(sockaddr: bytes) else { continue }
            #expect(try! SocketAddress(sockaddr: address.sockaddrBytes).family == address.family)
        }
    }

    private func boundAddress(of descriptor: CInt) throws -> SocketAddress {
        var storage = [UInt8](repeating: 0, count: 128)
        var length = socklen_t(storage.count)
        let status = storage.withUnsafeMutableBytes {
            getsockname(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
        }
        try #require(status == 0)
        return try SocketAddress(sockaddr: Array(storage.prefix(Int(length))))
    }
}
