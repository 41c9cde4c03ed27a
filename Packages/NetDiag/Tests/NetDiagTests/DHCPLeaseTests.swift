import Foundation
import Testing

@testable import NetDiag

@Suite struct DHCPLeaseTests {
    private static let file = """
        default-duid "\\000\\001";
        lease {
          interface "eth0";
          fixed-address 192.0.2.7;
          option subnet-mask 255.255.255.0;
          renew 5 2026/11/20 12:00:00;
          expire 5 2026/11/20 18:30:00;
        }
        lease {
          interface "wlan0";
          fixed-address 192.0.2.80;
          expire epoch 1795200000; # Fri Nov 20 18:40:00 2026
        }
        lease {
          interface "eth0";
          fixed-address 192.0.2.8;
          expire 6 2026/11/21 18:30:00;
        }
        lease {
          interface "tun0";
          fixed-address 192.0.2.90;
          expire never;
        }

        """

    @Test func theNewestOfEachInterface() {
        #expect(
            DHCPLease.parse(Self.file) == [
                DHCPLease(interface: "eth0", address: IPAddress("192.0.2.8")!, expiry: 1_795_285_800),
                DHCPLease(interface: "wlan0", address: IPAddress("192.0.2.80")!, expiry: 1_795_200_000),
            ])
        // A lease that never expires replaces an older one.
        #expect(
            DHCPLease.parse(Self.file + "lease { interface \"eth0\"; expire never; }").map(\.interface) == ["wlan0"])
    }

    /// Incomplete and malformed files.
    @Test func everyPrefixIsRead() {
        for length in 0...Self.file.count { _ = DHCPLease.parse(String(Self.file.prefix(length))) }
        for text in [
            "lease {", "lease { interface; expire; fixed-address }", "lease { expire 9 a/b/c d:e:f; interface x; }",
        ] {
            #expect(DHCPLease.parse(text).isEmpty)
        }
        let beyond = "lease { interface x; fixed-address 192.0.2.1; expire 1 9999/12/99 99:99:2147483647; }"
        #expect(DHCPLease.parse(beyond).count == 1)
        #expect(DHCPLease.parse(beyond.replacing("9999/12", with: "99999/12")).isEmpty)
    }

    @Test func expiredLeasesOfAllFiles() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("leases-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Self.file.write(toFile: folder + "/dhclient.eth0.leases", atomically: true, encoding: .utf8)
        try Self.file.write(toFile: folder + "/dhcpd.leases", atomically: true, encoding: .utf8)
        #expect(DHCPLease.expired(in: folder, now: 1_795_200_001).map(\.interface) == ["wlan0"])
        #expect(DHCPLease.expired(in: folder, now: 1_795_285_801).count == 2)
        #expect(DHCPLease.expired(in: folder + "/nowhere", now: .max).isEmpty)
    }

    /// Pipes, folders, links and huge files in place of lease files neither block the reader nor are read whole.
    @Test func malformedLeaseFiles() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("leases-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(mkfifo(folder + "/dhclient.a.leases", 0o600) == 0)
        try FileManager.default.createDirectory(
            atPath: folder + "/dhclient.b.leases", withIntermediateDirectories: false)
        for (name, target) in [("c", "/dev/zero"), ("d", folder + "/dhclient.d.leases"), ("e", "/nowhere")] {
            #expect(symlink(target, folder + "/dhclient.\(name).leases") == 0)
        }
        #expect(DHCPLease.expired(in: folder, now: .max).isEmpty)
        // Terabytes, with a lease at the end.
        let descriptor = open(folder + "/dhclient.f.leases", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        let lease = Array("\nlease { interface \"eth0\"; fixed-address 192.0.2.7; expire epoch 1; }\n".utf8)
        #expect(pwrite(descriptor, lease, lease.count, 1 << 42) == lease.count)
        close(descriptor)
        #expect(DHCPLease.expired(in: folder, now: 2).map(\.interface) == ["eth0"])
    }

    /// Expiry times outside the range of dates.
    @Test(arguments: [Int64.min, Int64.min + 1, -1, 0, 253_402_300_800, .max])
    func extremeExpiryTimes(_ expiry: Int64) {
        let leases = DHCPLease.parse(
            "lease { interface \"eth0\"; fixed-address 192.0.2.7; expire epoch \(expiry); }")
        #expect(leases.first?.expiry == expiry)
        var fault = LadderFault.all.first { $0.code == .linkLocalOnly }!
        fault.world.environment.expiredLeases = leases
        #expect(fault.world.diagnose().cause?.code == .leaseExpired)
    }

    /// An expired lease is reported only if its own interface lacks an address.
    @Test func itExplainsAMissingAddress() {
        let lease = DHCPLease(interface: "eth0", address: IPAddress("192.0.2.7")!, expiry: 1_795_200_000)
        var fault = LadderFault.all.first { $0.code == .linkLocalOnly }!
        fault.world.environment.expiredLeases = [lease]
        let cause = fault.world.diagnose().cause
        #expect(cause?.code == .leaseExpired)
        #expect(cause.map { "\($0.sentence)" }?.contains("Fri, 20 Nov 2026 18:40:00 GMT") == true)
        #expect(World.changed { $0.environment.expiredLeases = [lease] }.diagnose().cause == nil)
        fault.world.environment.expiredLeases[0].interface = "eth1"
        #expect(fault.world.diagnose().cause?.code == .linkLocalOnly)
    }
}
