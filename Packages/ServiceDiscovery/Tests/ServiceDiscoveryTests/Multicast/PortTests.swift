import Glibc
import Testing

@testable import ServiceDiscovery

/// Port 5353, which several programs of a machine share.
struct PortTests {
    private static let inUse = ServiceDiscoveryError(errno: EADDRINUSE)

    /// Opens both families; `results` are those of the attempts, with nil for success.
    private func open(
        _ results: [CInt: [ServiceDiscoveryError?]]
    ) -> (result: Result<[CInt], ServiceDiscoveryError>, inUse: [CInt], attempts: [CInt], pauses: Int) {
        var (inUse, attempts, pauses) = ([CInt](), [CInt](), 0)
        let result = Result { () throws(ServiceDiscoveryError) in
            let opening = try SocketOpening.sockets(of: [AF_INET, AF_INET6], pause: { pauses += 1 }) {
                family throws(ServiceDiscoveryError) in
                let earlier = attempts.count { $0 == family }
                attempts.append(family)
                if let error = results[family].flatMap({ $0[min(earlier, $0.count - 1)] }) { throw error }
                return family
            }
            inUse = opening.inUse
            return opening.sockets
        }
        return (result, inUse, attempts, pauses)
    }

    /// A program that has the port for itself for a moment costs no family.
    @Test func aPortThatIsInUseForAMomentIsTriedAgain() {
        let opening = open([AF_INET: [Self.inUse, Self.inUse, nil]])
        #expect(opening.result == .success([AF_INET, AF_INET6]))
        #expect(opening.attempts == [AF_INET, AF_INET, AF_INET, AF_INET6] && opening.pauses == 2)
    }

    /// A family that another program keeps leaves the other one, and is known.
    @Test func aPortThatStaysInUseCostsItsFamily() {
        for (family, other) in [(AF_INET, AF_INET6), (AF_INET6, AF_INET)] {
            let opening = open([family: [Self.inUse]])
            #expect(opening.result == .success([other]) && opening.inUse == [family])
            #expect(opening.attempts.count { $0 == family } == SocketOpening.attempts)
            #expect(opening.pauses == SocketOpening.attempts - 1)
        }
        #expect(open([AF_INET: [Self.inUse], AF_INET6: [Self.inUse]]).result == .failure(Self.inUse))
        let missing = ServiceDiscoveryError(errno: EAFNOSUPPORT)
        #expect(open([AF_INET: [Self.inUse], AF_INET6: [missing]]).result == .failure(Self.inUse))
        #expect(open([AF_INET: [missing], AF_INET6: [Self.inUse]]).result == .failure(Self.inUse))
    }

    @Test func aFamilyIsWarnedOfOnce() {
        var warnings = PortWarnings()
        #expect(warnings.warning(of: []) == nil)
        #expect(warnings.warning(of: [AF_INET])?.contains("5353 of IPv4;") == true)
        #expect(warnings.warning(of: [AF_INET]) == nil)
        #expect(warnings.warning(of: [AF_INET, AF_INET6])?.contains("5353 of IPv6;") == true)
    }

    @Test func oneFamilyIsEnough() {
        let missing = ServiceDiscoveryError(errno: EAFNOSUPPORT)
        #expect(open([AF_INET6: [missing]]).result == .success([AF_INET]))
        #expect(open([AF_INET: [missing]]).result == .success([AF_INET6]))
        #expect(open([AF_INET: [missing], AF_INET6: [missing]]).result == .failure(missing))
    }

    @Test(arguments: [EMFILE, ENFILE, ENOMEM, ENOBUFS]) func aLackOfResourcesIsAFailure(number: CInt) {
        let error = ServiceDiscoveryError(errno: number)
        #expect(open([AF_INET: [error]]).result == .failure(error))
        #expect(open([AF_INET6: [error]]).result == .failure(error))
    }

    /// Lists of the kernel: for IPv4, and for IPv6.
    @Test func theKernelsListsAreRead() {
        let v4 = """
              sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
              484: 00000000:14E9 00000000:0000 07 00000000:00000000 00:00000000 00000000   101        0 22222 2 0000000000000000 0
              484: 0100007F:14E9 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4294967297 2 0000000000000000 0
              485: 00000000:14EA 00000000:14E9 07 00000000:00000000 00:00000000 00000000     0        0 33333 2 0000000000000000 0
            """
        let v6 = """
              sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
              484: 00000000000000000000000000000000:14E9 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 44444 2 0000000000000000 0
            """
        #expect(PortUse.sockets(in: Array(v4.utf8), port: 5353) == [22222, 4_294_967_297])
        #expect(PortUse.sockets(in: Array(v6.utf8), port: 5353) == [44444])
        #expect(PortUse.sockets(in: Array("0: 1\n\n:: : : : : : : : : :\n".utf8), port: 5353) == [])
        let lists = [Array(v4.utf8), Array(v6.utf8)]
        #expect(!PortUse.isShared(lists, beside: [22222, 4_294_967_297, 44444]))
        #expect(PortUse.isShared(lists, beside: [22222, 44444]))
        // Without IPv6, in another network namespace, and without any list.
        #expect(!PortUse.isShared([lists[0], nil], beside: [22222, 4_294_967_297]))
        #expect(PortUse.isShared(lists, beside: [22222, 4_294_967_297, 44444, 55555]))
        #expect(PortUse.isShared([nil, nil], beside: [22222]))
    }

    /// The engine's own sockets are no other program's.
    @Test func anotherSocketIsNoticed() throws {
        let sockets = try (0..<2).map { _ in try MulticastSocket(family: AF_INET, loop: .shared) }
        defer { for socket in sockets { socket.close() } }
        let inodes = try sockets.map { try #require($0.inode) }
        #expect(Set(inodes).count == 2 && PortUse.isShared(beside: [inodes[0]]))
        sockets[0].close()
        #expect(sockets[0].inode == nil)
    }
}
