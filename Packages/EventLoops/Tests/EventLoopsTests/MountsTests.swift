import Foundation
import Testing

@testable import EventLoops

extension EventLoopsTests {
    @Suite struct MountsTests {
        private static let text = #"""
            22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
            23 22 0:5 / /dev rw,nosuid - devtmpfs udev rw
            24 22 0:44 / /mnt rw - nfs4 one:/ rw
            25 24 0:45 / /mnt/a\040b rw master:2 - nfs4 two:/ rw
            not a line
            26 22 259:70000 / /dev rw - ext4 /dev/nvme0n1 rw
            """#

        @Test(arguments: [
            ("/", UInt64(0x801)), ("/etc/hosts", 0x801), ("/mnt", 44), ("/mnt/x/y", 44), ("/mnt2", 0x801),
            ("/mnt/a b/c", 45), ("/mnt/a b", 45), ("/mnt/a", 44), ("/mnt/./a b//c", 45), ("/mnt/a b/../c", 44),
            ("/mnt/../..", 0x801),
            // The later of two mounts at one point hides the earlier one. 70000 = 0x11170, 259 = 0x103.
            ("/dev/x", 0x1111_0370),
        ])
        func theDeviceOfAPath(_ path: String, _ device: UInt64) {
            #expect(Mounts(text: Self.text).device(of: path) == device)
        }

        @Test func withoutAMount() {
            #expect(Mounts(text: "").device(of: "/etc") == nil)
        }

        /// The list agrees with the system, for a path that exists and a relative one. `/proc` is a mount everywhere.
        @Test(arguments: ["/proc/self/mountinfo", "/dev/null"])
        func theDeviceOfThisSystem(_ path: String) {
            var status = stat()
            #expect(stat(path, &status) == 0)
            #expect(Mounts.device(of: path) == UInt64(status.st_dev))
            let up = String(repeating: "../", count: 50)
            #expect(Mounts.device(of: up + path.dropFirst()) == UInt64(status.st_dev))
        }
    }
}
