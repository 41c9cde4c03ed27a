import FTPListing
import Testing

/// One line of each format, and the entry that it results in.
struct FormatTests {
    struct Line: Sendable, CustomTestStringConvertible {
        let line: String
        let name: String
        let kind: ListingKind
        let size: UInt64?
        let date: String?
        var owner: String?
        var group: String?
        var mode: UInt16?
        var target: String?
        var format = ListingFormat.unix

        var testDescription: String { line }
    }

    // Parsed at 2026-11-21 12:00 UTC.
    static let lines: [Line] = [
        .init(
            line: "-rw-r--r--   1 ann      staff     2040000 Aug  5 07:31 of this year", name: "of this year",
            kind: .file,
            size: 2_040_000, date: "2026-08-05 07:31 ?", owner: "ann", group: "staff", mode: 0o644),
        .init(
            line: "-rwsr-x--T+  1 500      500            16 Nov 23 07:31 of last year", name: "of last year",
            kind: .file,
            size: 16, date: "2025-11-23 07:31 ?", owner: "500", group: "500", mode: 0o5750),
        .init(
            line: "-rw-r--r--   1 500      500            16 Nov 22 11:31 a zone ahead", name: "a zone ahead",
            kind: .file,
            size: 16, date: "2026-11-22 11:31 ?", owner: "500", group: "500", mode: 0o644),
        .init(
            line: "-rw-r--r--   1 a b 1 Feb 29 07:31 leap", name: "leap", kind: .file, size: 1,
            date: "2024-02-29 07:31 ?", owner: "a", group: "b", mode: 0o644),
        .init(
            line: "drwxr-xr-x   2 two words  group  4096 Mar  2 2013 x", name: "x", kind: .directory, size: nil,
            date: "2013-03-02", owner: "two words", group: "group", mode: 0o755),
        .init(
            line: "drwxr-xr-x   2 512 Mar  2  2013   two blanks first", name: "  two blanks first", kind: .directory,
            size: nil, date: "2013-03-02", mode: 0o755),
        .init(
            line: "-r-xr-xr-x  1 anonymou      245       90 Mar  1 2003  left.column", name: "left.column", kind: .file,
            size: 90, date: "2003-03-01", owner: "anonymou", group: "245", mode: 0o555),
        .init(
            line: "crw-r----- 1 root kmem 1, 27 Jan 30 11:42 kmem", name: "kmem", kind: .characterDevice, size: nil,
            date: "2026-01-30 11:42 ?", owner: "root", group: "kmem", mode: 0o640),
        .init(
            line: "brw-r----- 1 root disk 8, 0 Jan 30 2020 sda", name: "sda", kind: .blockDevice, size: nil,
            date: "2020-01-30", owner: "root", group: "disk", mode: 0o640),
        .init(
            line: "srwxrwxrwx 1 root root 0 Jan 30 2020 s", name: "s", kind: .socket, size: nil, date: "2020-01-30",
            owner: "root", group: "root", mode: 0o777),
        .init(
            line: "prw-r--r-- 1 root root 0 Jan 30 2020 p", name: "p", kind: .fifo, size: nil, date: "2020-01-30",
            owner: "root", group: "root", mode: 0o644),
        .init(
            line: "lrwxrwxrwx 1 a b 4 Jan 30 2020 a -> b -> c d", name: "a", kind: .link, size: nil,
            date: "2020-01-30", owner: "a", group: "b", mode: 0o777, target: "b -> c d"),
        .init(
            line: "lrwxrwxrwx 1 a b 3 Jan 30 2020 a -> b -> c d", name: "a -> b", kind: .link, size: nil,
            date: "2020-01-30", owner: "a", group: "b", mode: 0o777, target: "c d"),
        .init(
            line: "-rw-r--r-- 1 a b 5 2024-05-21 12:01 iso", name: "iso", kind: .file, size: 5,
            date: "2024-05-21 12:01",
            owner: "a", group: "b", mode: 0o644),
        .init(
            line: "-rw-r--r-- 1 a b 5 2024-05-21 12:01:02.123456789 +0200 full", name: "full", kind: .file, size: 5,
            date: "2024-05-21 12:01:02 +7200", owner: "a", group: "b", mode: 0o644),
        .init(
            line: "-rw-r--r-- 1 a b 5 05-21 12:01 short iso", name: "short iso", kind: .file, size: 5,
            date: "2026-05-21 12:01 ?", owner: "a", group: "b", mode: 0o644),
        .init(
            line: "-rw-r--r-- 1 a b 5 21.05.2024 12:01 dots", name: "dots", kind: .file, size: 5,
            date: "2024-05-21 12:01", owner: "a", group: "b", mode: 0o644),
        .init(
            line: "-rw-r--r-- 1 a b 5 May 21 12:01:02 2024 ls -T", name: "ls -T", kind: .file, size: 5,
            date: "2024-05-21 12:01:02", owner: "a", group: "b", mode: 0o644),
        .init(
            line: "-rw-r--r-- 1 a b 5 21. Mär 2024 german", name: "german", kind: .file, size: 5, date: "2024-03-21",
            owner: "a", group: "b", mode: 0o644),
        .init(
            line: "-rw-r--r-- 1 a b 5 3 août 12:00 french", name: "french", kind: .file, size: 5,
            date: "2026-08-03 12:00 ?", owner: "a", group: "b", mode: 0o644),
        .init(
            line: "-rw-r--r-- 1 a b 5 5月 15日 2009年 japanese", name: "japanese", kind: .file, size: 5,
            date: "2009-05-15", owner: "a", group: "b", mode: 0o644),
        .init(
            line: "-rw-r--r-- 1 a b 5 янв 15 2009 russian", name: "russian", kind: .file, size: 5, date: "2009-01-15",
            owner: "a", group: "b", mode: 0o644),
        .init(
            line: "-rw-r--r--    1 longgroup longgroup123456789 Nov 20  2008 joined", name: "joined", kind: .file,
            size: nil,
            date: "2008-11-20", owner: "longgroup", mode: 0o644),
        .init(
            line: "drwxr-xr-x               folder        0 Aug 15 05:49 !Mac", name: "!Mac", kind: .directory,
            size: nil,
            date: "2026-08-15 05:49 ?", mode: 0o755),
        .init(
            line: "-rw-r--r--    78440       49231   127671 Jul 22 14:51 forks", name: "forks", kind: .file,
            size: 127_671,
            date: "2026-07-22 14:51 ?", mode: 0o644),
        .init(
            line: "-C--E-----FTP B QUA1I1      18128       41 Apr 1 2014 BATCH", name: "BATCH", kind: .file, size: 41,
            date: "2014-04-01", owner: "QUA1I1", group: "18128"),
        .init(
            line: "d [R----F--] supervisor            512       Jan 16 18:53    login", name: "   login",
            kind: .directory,
            size: nil, date: "2026-01-16 18:53 ?", owner: "supervisor", format: .netware),
        .init(
            line: "-[RWCEAFMS] 0                19968 Mar 12 2020 a b.doc", name: "a b.doc", kind: .file, size: 19968,
            date: "2020-03-12", owner: "0", format: .netware),
        .init(
            line: "05-26-95  10:57AM               143712 $LDR$ x", name: "$LDR$ x", kind: .file, size: 143_712,
            date: "1995-05-26 10:57", format: .windows),
        .init(
            line: "12-03-2016  12:38AM       <DIR>          10 years", name: "10 years", kind: .directory, size: nil,
            date: "2016-12-03 00:38", format: .windows),
        .init(
            line: "2016-12-03  18:38       <SYMLINKD>     here [C:\\there]", name: "here", kind: .link, size: nil,
            date: "2016-12-03 18:38", target: "C:\\there", format: .windows),
        .init(
            line: "DATA.DIR;1               1/9           2-JUN-1998 07:32:04  [GROUP,ANN]     (RWED,RWED,RE,R)",
            name: "DATA", kind: .directory, size: nil, date: "1998-06-02 07:32:04", owner: "ANN", group: "GROUP",
            mode: 0o754, format: .vms),
        .init(
            line: "[SUB]A.TXT;15   3   20-AUG-1996 13:59 [ANN] (RWE,RWE,,)", name: "A.TXT", kind: .file, size: 1536,
            date: "1996-08-20 13:59", owner: "ANN", mode: 0o700, format: .vms),
        .init(
            line: "PEP             36864 04/03/24 14:06:34 *DIR       dir1/", name: "dir1", kind: .directory, size: nil,
            date: "2004-03-24 14:06:34", owner: "PEP", format: .os400),
        .init(
            line: "PEP               422 24.03.04 14:06:26 *STMF      a b", name: "a b", kind: .file, size: 422,
            date: "2004-03-24 14:06:26", owner: "PEP", format: .os400),
        .init(
            line: "PEP                                     *MEM       A.FILE/B.MBR", name: "A.FILE/B.MBR", kind: .file,
            size: nil, date: nil, owner: "PEP", format: .os400),
        .init(
            line: "SAVE00 3390   2004/06/23  1    1  FB     128  6144  PS    IN.RPT.D061704", name: "IN.RPT.D061704",
            kind: .file, size: nil, date: "2004-06-23", format: .mvs),
        .init(
            line: "SAVE00 3390   **NONE**    1    1  FB     128  6144  PO-E  'A.LIB'", name: "A.LIB", kind: .directory,
            size: nil, date: nil, format: .mvs),
        .init(
            line: "Migrated                             A.B", name: "A.B", kind: .file, size: nil, date: nil,
            format: .mvs),
        .init(
            line: "MEMBER    01.03 2002/09/12 2002/10/11 09:37    11    11     0 ANN", name: "MEMBER", kind: .file,
            size: nil, date: "2002-10-11 09:37", owner: "ANN", format: .mvsMembers),
        .init(
            line: "     0  A        DIR   05-12-97   16:44  A DIR", name: "A DIR", kind: .directory, size: nil,
            date: "1997-05-12 16:44", format: .os2),
        .init(
            line: "  1163  RA             05-19-2000 12:56  x.exe", name: "x.exe", kind: .file, size: 1163,
            date: "2000-05-19 12:56", format: .os2),
        .init(
            line: "IARPTS     101             16354 18-Mar-02 13:29:35 244, 10 \"nnnn\"", name: "IARPTS", kind: .file,
            size: 16354, date: "2002-03-18 13:29:35", owner: "10", group: "244", format: .nonStop),
        .init(
            line: "+i8388621.44468,m839956783,r,s10376,up644,\ta\tb", name: "a\tb", kind: .file, size: 10376,
            date: "1996-08-13 17:19:43 Z", mode: 0o644, format: .eplf),
        .init(
            line: "+m824255902,/,\tdev", name: "dev", kind: .directory, size: nil, date: "1996-02-13 23:58:22 Z",
            format: .eplf),
        .init(
            line: "Type=dir;Modify=20141022065102.123;UNIX.mode=02775;unix.ownername=ann;UNIX.owner=7; a; b",
            name: "a; b",
            kind: .directory, size: nil, date: "2014-10-22 06:51:02 Z", owner: "ann", mode: 0o2775, format: .facts),
        .init(
            line: "type=OS.unix=slink:/a b;unix.groupname=g; l", name: "l", kind: .link, size: nil, date: nil,
            group: "g",
            target: "/a b", format: .facts),
        .init(
            line: "type=OS.unix=symlink:../out;size=6; l", name: "l", kind: .link, size: 6, date: nil, target: "../out",
            format: .facts),
        .init(
            line: "type=OS.unix=symlink:; no target", name: "no target", kind: .link, size: nil, date: nil,
            format: .facts),
        .init(
            line: "type=file;size=1;   two blanks first", name: "  two blanks first", kind: .file, size: 1, date: nil,
            format: .facts),
        .init(
            line: "02-28-2020  09:00AM       <JUNCTION>     here => D:\\there [x]", name: "here", kind: .link,
            size: nil,
            date: "2020-02-28 09:00", target: "D:\\there [x]", format: .windows),
        .init(
            line: "36611      A    04-23-103  10:57  year 2003", name: "year 2003", kind: .file, size: 36611,
            date: "2003-04-23 10:57", format: .os2),
        .init(
            line: "Notes.dir;1   1   20-AUG-1996 13:59 [ANN] (RWE,RWE,,)", name: "Notes", kind: .directory, size: nil,
            date: "1996-08-20 13:59", owner: "ANN", mode: 0o700, format: .vms),
        .init(
            line: "PROFILE  EXEC     F         80         25          1 2001-08-27 13:02:11 TCMNT2",
            name: "PROFILE.EXEC",
            kind: .file, size: 2000, date: "2001-08-27 13:02:11", owner: "TCMNT2", format: .zvm),
        .init(
            line: "LOG      FILE     V         72         25          1  8/27/01 13:02:11", name: "LOG.FILE",
            kind: .file, size: nil, date: "2001-08-27 13:02:11", format: .zvm),
        .init(
            line: "WORK     DIR      -          -          - 2001-08-27 13:02:11 -", name: "WORK", kind: .directory,
            size: nil, date: "2001-08-27 13:02:11", format: .zvm),
        .init(
            line: "     512    JAN-01-1980   00:00:00   A DIR             <DIR>", name: "A DIR", kind: .directory,
            size: nil,
            date: "1980-01-01 00:00:00", format: .vxWorks),
        .init(
            line: "    1234    MAR-14-2006   09:05:07   a b.txt           ", name: "a b.txt", kind: .file, size: 1234,
            date: "2006-03-14 09:05:07", format: .vxWorks),
        .init(
            line: "-rw-r--r-- 1 a b 5 2024年 8月 15日 year first", name: "year first", kind: .file, size: 5,
            date: "2024-08-15", owner: "a", group: "b", mode: 0o644),
        .init(
            line: "-rw-r--r-- 1 a b 5 2024년 8월 15일 korean", name: "korean", kind: .file, size: 5,
            date: "2024-08-15", owner: "a", group: "b", mode: 0o644),
        .init(
            line: "  206876  Apr 04, 2000 21:06 a b", name: "a b", kind: .file, size: 206_876, date: "2000-04-04 21:06",
            format: .vshell),
        .init(
            line: "0 Dec 12, 2002  02:13 folder/", name: "folder", kind: .directory, size: nil,
            date: "2002-12-12 02:13", format: .vshell),
        .init(
            line: "-rwxr-xr-x    1 ann staff        9 Oct 08, 2002 09:47 x", name: "x", kind: .file, size: 9,
            date: "2002-10-08 09:47", owner: "ann", group: "staff", mode: 0o755),
        .init(
            line: "-rw-r--r-- 1 a b 5 2024-05-21  old in the ISO style", name: "old in the ISO style", kind: .file,
            size: 5,
            date: "2024-05-21", owner: "a", group: "b", mode: 0o644),
        .init(
            line: "-rw-r--r-- 1 a b 5 05-21 2024 year after the day", name: "year after the day", kind: .file, size: 5,
            date: "2024-05-21", owner: "a", group: "b", mode: 0o644),
        .init(
            line: "-rw-r--r-- 1 a b 33.5k Oct 5 2024 rounded", name: "rounded", kind: .file, size: 34_304,
            date: "2024-10-05", owner: "a", group: "b", mode: 0o644),
        .init(
            line: "-rw-r--r-- 1 a b 4,0K Oct 5 2024 with a comma", name: "with a comma", kind: .file, size: 4096,
            date: "2024-10-05", owner: "a", group: "b", mode: 0o644),
        .init(
            line: "-rw-r--r--@ 1 a b 0B Oct 5 2024 empty", name: "empty", kind: .file, size: 0, date: "2024-10-05",
            owner: "a", group: "b", mode: 0o644),
        .init(
            line: "-rw-r--r-- 1 a b 1,234,567 Oct 5 2024 in groups", name: "in groups", kind: .file, size: 1_234_567,
            date: "2024-10-05", owner: "a", group: "b", mode: 0o644),
        .init(
            line: "lrwxrwxrwx 1 a b 0 Jan 30 2020 no target -> ", name: "no target", kind: .link, size: nil,
            date: "2020-01-30", owner: "a", group: "b", mode: 0o777),
        .init(
            line: "lrwxrwxrwx 1 a b 0 Jan 30 2020 no blank ->", name: "no blank", kind: .link, size: nil,
            date: "2020-01-30", owner: "a", group: "b", mode: 0o777),
        .init(
            line: "02-28-2020  09:00AM       <JUNCTION>     here -> ..\\there", name: "here", kind: .link, size: nil,
            date: "2020-02-28 09:00", target: "..\\there", format: .windows),
        .init(
            line: "14.01.2022  15:24             1.234.567 german.bin", name: "german.bin", kind: .file,
            size: 1_234_567,
            date: "2022-01-14 15:24", format: .windows),
        .init(
            line: "01-14-22  03:24p                  234 dos.txt", name: "dos.txt", kind: .file, size: 234,
            date: "2022-01-14 15:24", format: .windows),
        .init(
            line: "1234 01-14-2022 03:24PM size before the date", name: "size before the date", kind: .file, size: 1234,
            date: "2022-01-14 15:24", format: .os2),
        .init(
            line: "QSYS            77824 23/02/00 15:09:55 *FILE      DAY.FILE/", name: "DAY.FILE", kind: .directory,
            size: nil, date: "2000-02-23 15:09:55", owner: "QSYS", format: .os400),
        .init(
            line: "SAVE05 3390   2005/06/06 213000 U        0 27998  PO  JOINED.LIB", name: "JOINED.LIB",
            kind: .directory,
            size: nil, date: "2005-06-06", format: .mvs),
        .init(
            line: "V43525 Tape                                             ON.TAPE", name: "ON.TAPE", kind: .file,
            size: nil, date: nil, format: .mvs),
        .init(
            line: "IEFBR15   0008A0 00010C  00 FO RN RU            31    ANY", name: "IEFBR15", kind: .file, size: 2208,
            date: nil, format: .mvsMembers),
        .init(
            line: "LOGIN.COM;12   No privilege for attempted operation", name: "LOGIN.COM", kind: .file, size: nil,
            date: nil, format: .vms),
        .init(
            line: "SUB.DIR;1   %RMS-E-PRV, insufficient privilege or file protection violation", name: "SUB",
            kind: .directory, size: nil, date: nil, format: .vms),
    ]

    // Parity: FT-069, FT-070, FT-071
    @Test(arguments: lines)
    func lineOfEachFormat(_ line: Line) throws {
        let entries = try ListingParser.entries(of: Array(line.line.utf8), ListingParserTests.options)
        let entry = try #require(entries.first)
        #expect(entry.name == line.name)
        #expect(entry.kind == line.kind)
        #expect(entry.size == line.size)
        #expect(entry.date.map(Self.text) == line.date)
        #expect(entry.owner == line.owner)
        #expect(entry.group == line.group)
        #expect(entry.mode == line.mode)
        #expect(entry.linkTarget == line.target)
        #expect(entry.format == line.format)
        // Setting the format does not change the result.
        var options = ListingParserTests.options
        options.format = line.format
        #expect(try ListingParser.entries(of: Array(line.line.utf8), options) == entries)
    }

    /// Each of these lines may stand for a file, so it is counted.
    @Test(arguments: [
        "ftpd: .: Permission denied", "-rw-r--r--   1 14  staff  80284 Aug 22  no year",
        "drwxr-xr-x    3 110      1002            3 Dec 02  209 short year",
        "Zrwxrwxrwx   1 root other 7 Jan 25 2000 x", "-rw-r--r-- 1 a b 5 May 21 30:00 no such hour",
        "-rw-r--r-- 1 a b 5 Feb 32 2020 no day of any month",
        "-rw-r--r-- 1 a b 5 May 21 2020", "-rw-r--r-- 1 a b 5 May 21 2020  ", "dxrwr-xr-x 2 a b 4096 Aug 24 2001 x",
        "Type=file; ", "Type=file;size=1;name", "Type=dir ", "Width=5 no-known-fact",
        "type=file; size=3; notes.txt", "type=file size=3; notes.txt", "type=file: size=3;notes.txt",
        "type=file;size=3: modify=20190304000000", "type=OS.unix=slink:/a b",
        "Type=file;Size=3; UNIX.mode=0644; notes.txt", "type=file;size=3; size=4;.txt",
        "120196.TXT;1           118/126        14-APR-1997 12:45:27 PM  [G,O]    (RWED,,RWED,RE)",
        "AA.;2      152/153        13-FED-1997 08:13:43  [G,O]    (RWED,RWED,RWED,RE)",
        "PEP  422 04/03/24 30:06:29 *STMF  x", "PEP  422 04/03/24 14:06:29 *STMF",
        "                 DIR   12-30-97   12:32  x", "05-26-95  13:57PM  1 x",
        "+m1,/,no tab",
        " a name without facts, in a listing without facts", "README   763  Information about this server",
        "pub/     =  Public area", "1 Dec 12 2002 02:13 no comma", "1 Dec 32, 2002 02:13 no such day",
        "A B C 80 25 1 2001-08-27 13:02:11 no such record format", "05-26-99  x", "05-26-055  10:57  1 x",
        "Scotch Tape roll", "-rw-r--r-- 1 a b x5k Oct 5 2024 no size", "-rw-r--r-- 1 a b 5 13-21 2024 no such month",
        "01-14-22  03:24PM  1,23 groups of two digits", "01-14-22  03:24xm  234 no such time",
        "A.DIR;1   No such file", "LONELY.TXT;1", "MEMBER", "512  FOO-01-1980  00:00:00  no such month",
        "512  JAN-01-1980  00:00:00",
    ])
    func unreadLinesAreCounted(_ line: String) throws {
        for ending in ["", "\r\n"] {
            let (entries, unread) = try parse(line + ending)
            #expect(entries.isEmpty)
            #expect(unread.count == 1 && unread.texts == [line])
        }
    }

    /// Nothing is missing without these lines.
    @Test(arguments: [
        "total 12", "total 12K", "insgesamt 4", "итого 8", "合計 4", "", "   ", "Directory DISK$A:[ANONYM]",
        "Directory of C:\\pub",
        "Total of 11 files, 12/100 blocks.", "Grand total of 2 files, 3 blocks.",
        "Volume Unit    Referred Ext Used Recfm Lrecl BlkSz Dsorg Dsname",
        " Name     VV.MM   Created       Changed      Size  Init   Mod   Id",
        "Name      Size   TTR     Alias-of AC --------- Attributes --------- Amode Rmode",
        "File         Code             EOF  Last Modification    Owner  RWEP",
        "  size          date       time       name", "--------       ------     ------    --------",
        " Volume in drive C is SYSTEM", "       3 File(s)   1,234 bytes",
    ])
    func headingsAreNotEntries(_ line: String) throws {
        let (entries, unread) = try parse(line)
        #expect(entries.isEmpty && unread.isEmpty)
    }

    private func parse(_ listing: String) throws -> (entries: [ListingEntry], unread: UnreadLines) {
        var parser = ListingParser(ListingParserTests.options)
        let bytes = Array(listing.utf8)
        var entries: [ListingEntry] = []
        var offset = 0
        while true {
            let step = try parser.parse(bytes.span.bytes.extracting(droppingFirst: offset))
            if step.consumed == 0 { break }
            if let entry = step.entry { entries.append(entry) }
            offset += step.consumed
        }
        entries += try parser.finish(bytes.span.bytes.extracting(droppingFirst: offset))
        return (entries, parser.unread)
    }

    /// A date that does not exist costs the date, not the entry.
    @Test(
        arguments: [
            ("-rw-r--r-- 1 a b 5 Feb 30 2019 gone.txt", "gone.txt", 5), ("-rw-r--r-- 1 a b 5 Feb 30 12:00 x", "x", 5),
            ("-rw-r--r-- 1 a b 5 2019-02-30 12:00 x", "x", 5), ("-rw-r--r-- 1 a b 5 2019-02-30 x", "x", 5),
            ("-rw-r--r-- 1 a b 5 02-30 12:00 x", "x", 5), ("-[RWCEAFMS] 0  5 Feb 30 2020 x", "x", 5),
            ("13-13-97  10:57AM  5 x", "x", 5), ("5  A  02-30-97  16:44  x", "x", 5),
            ("5 Feb 30, 2002 02:13 x", "x", 5),
            ("PEP  5 13/32/04 14:06:29 *STMF  x", "x", 5), ("5  FEB-30-1980  00:00:00  x", "x", 5),
            ("A  TEXT  F  1  5  1 2001-02-30 13:02:11 ANN", "A.TEXT", 5),
            ("MEMBER 01.03 2002/09/12 2002/02/30 09:37 11 11 0 ANN", "MEMBER", nil),
            ("SAVE00 3390 2004/02/30 1 1 FB 128 6144 PS A.B", "A.B", nil),
        ] as [(String, String, UInt64?)])
    func aDateThatDoesNotExist(_ line: String, _ name: String, _ size: UInt64?) throws {
        let (entries, unread) = try parse(line)
        #expect(entries.map(\.name) == [name] && entries.first?.size == size && unread.isEmpty)
        #expect(entries.first?.date == nil)
    }

    /// RFC 3659 §7.2: the first space ends the facts. The fact before it, which has no semicolon, is left out.
    @Test(
        arguments: [
            ("type=file;size=5;modify=20191202065119: last.jpg", "last.jpg", .file, 5),
            ("type=file;size=5;modify=20191202065119 last.jpg", "last.jpg", .file, 5),
            ("type=file;size=5: a b", "a b", .file, nil), ("type=file;size=5:  a", " a", .file, nil),
            ("type=file;size=5;modify=20191202065119: a; b.jpg", "a; b.jpg", .file, 5),
            ("modify=20191202065119: only", "only", .unknown, nil), ("Type=dir no", "no", .unknown, nil),
            ("type=file;size=5;UNIX.ownername=ann last.jpg", "last.jpg", .file, 5),
            ("type=file;size=5;UNIX.ownername=Ann Lee;perm=r; whole", "whole", .file, 5),
            ("type=OS.unix=slink:/a b;size=5; whole", "whole", .link, 5),
        ] as [(String, String, ListingKind, UInt64?)])
    func aLastFactWithoutASemicolon(_ line: String, _ name: String, _ kind: ListingKind, _ size: UInt64?) throws {
        let (entries, unread) = try parse(line)
        let entry = try #require(entries.first)
        #expect(entry.name == name && entry.kind == kind && entry.size == size && unread.isEmpty)
        #expect(entry.date == nil)
    }

    /// A fact that cannot be read costs the fact (RFC 3659 §7: facts are independent of each other).
    @Test(
        arguments: [
            ("type=file;modify=20191202065119:size=1627082;UNIX.mode=0644; photo.jpg", nil, nil, 0o644),
            ("type=file;size=5;modify=; x", 5, nil, nil), ("type=file;size=5;modify=201912020651; x", 5, nil, nil),
            ("type=file;size=-5;modify=20191202065119; x", nil, "2019-12-02 06:51:19 Z", nil),
            ("type=file;size=99999999999999999999;UNIX.mode=644x; x", nil, nil, nil),
            ("type=file;Size;=7;;modify=20191302065119;size=5; x", 5, nil, nil),
        ] as [(String, UInt64?, String?, UInt16?)])
    func aFactThatCannotBeRead(_ line: String, _ size: UInt64?, _ date: String?, _ mode: UInt16?) throws {
        let (entries, unread) = try parse(line)
        let entry = try #require(entries.first)
        #expect(unread.isEmpty && entry.kind == .file)
        #expect(entry.size == size && entry.date.map(Self.text) == date && entry.mode == mode)
    }

    /// Members without statistics are names alone, which need the heading or another member to be recognised.
    @Test func membersWithoutStatistics() throws {
        let members =
            "ALONE\r\nMEMBER    01.03 2002/09/12 2002/10/11 09:37    11    11     0 ANN\r\n$X@1\r\nnot one\r\n"
        let (entries, unread) = try parse(members)
        #expect(entries.map(\.name) == ["MEMBER", "$X@1"] && entries.allSatisfy { $0.format == .mvsMembers })
        #expect(unread.texts == ["ALONE", "not one"])
        let announced = try parse(" Name     VV.MM   Created       Changed      Size  Init   Mod   Id\r\nALONE\r\n")
        #expect(announced.entries.map(\.name) == ["ALONE"] && announced.unread.isEmpty)
        var options = ListingParserTests.options
        options.format = .mvsMembers
        #expect(try ListingParser.entries(of: Array("ALONE".utf8), options).map(\.kind) == [.file])
    }

    /// The name of a VMS file is not lost because another line follows than that of its attributes.
    @Test func aLongNameWithoutAttributes() throws {
        let (entries, unread) = try parse(
            "LONG_NAME.TXT;3\r\nOTHER_NAME.TXT;1\r\n   2/4   1-JUN-2020 08:00:00\r\nLAST.TXT;9\r\n")
        #expect(entries.map(\.name) == ["OTHER_NAME.TXT"])
        #expect(unread.texts == ["LONG_NAME.TXT;3", "LAST.TXT;9"])
    }

    @Test func unreadLinesAreBounded() throws {
        let long = String(repeating: "é", count: 1000)
        let (_, unread) = try parse(String(repeating: "\u{1B}[2J\(long)\n", count: 100))
        #expect(unread.count == 100 && unread.texts.count == UnreadLines.maximumTexts)
        #expect(unread.texts.allSatisfy { $0.hasPrefix("[2Jé") && $0.utf8.count <= UnreadLines.maximumLineLength })
    }

    /// RFC 3659 §7.2 allows a line without facts. Only the other lines show that the listing has facts.
    @Test func aNameWithoutFacts() throws {
        let listing = Array("type=file;size=1; a\r\n b c\r\n  d\r\n \r\n".utf8)
        let entries = try ListingParser.entries(of: listing, ListingParserTests.options)
        #expect(entries.map(\.name) == ["a", "b c", " d"])
        #expect(entries.map(\.kind) == [.file, .unknown, .unknown])
        var options = ListingParserTests.options
        options.format = .facts
        #expect(try ListingParser.entries(of: Array(" b c".utf8), options).map(\.name) == ["b c"])
    }

    @Test func roundedSizesAreNotExact() throws {
        let listing = Array("-rw-r--r-- 1 a b 33.5k Oct 5 2024 a\n-rw-r--r-- 1 a b 1,024 Oct 5 2024 b".utf8)
        #expect(try ListingParser.entries(of: listing, ListingParserTests.options).map(\.isSizeExact) == [false, true])
    }

    /// A long name is followed by a line of attributes, or by the message that replaces them.
    @Test func aLongNameWithoutPrivilege() throws {
        let listing = Array("LONG_NAME_OF_A_FILE.TXT;3\r\n          No privilege for attempted operation\r\n".utf8)
        let entries = try ListingParser.entries(of: listing, ListingParserTests.options)
        #expect(entries.map(\.name) == ["LONG_NAME_OF_A_FILE.TXT"] && entries.map(\.size) == [nil])
    }

    @Test(arguments: [
        ("0644", 0o644), ("0o644", 0o644), ("100644", 0o644), ("644x", nil), ("", nil), ("0777777777", nil),
    ])
    func modesInFacts(_ text: String, _ mode: UInt16?) throws {
        let line = Array("unix.mode=\(text); x".utf8)
        let entry = try #require(try ListingParser.entries(of: line, ListingParserTests.options).first)
        #expect(entry.mode == mode)
    }

    @Test func monthsInSingleByteEncodings() throws {
        for word: [UInt8] in [[0xC1, 0xD0, 0xD2], [0xE0, 0xEF, 0xF0], [0xD0, 0xDF, 0xE0]] {  // апр
            let line = Array("-rw-r--r-- 1 a b 5 15 ".utf8) + word + Array(" 2009 x".utf8)
            let entry = try #require(try ListingParser.entries(of: line, ListingParserTests.options).first)
            #expect(entry.date.map(Self.text) == "2009-04-15")
        }
    }

    // Parity: FT-073
    @Test func theListedDirectoryAndItsParent() throws {
        let lines = [
            "type=cdir; /a/b", "type=pdir; /a", "type=dir; .", "drwxr-xr-x 1 a b 5 May 21 2020 ..", "type=dir; x",
        ]
        let places = try lines.map {
            try ListingParser.entries(of: Array($0.utf8), ListingParserTests.options).first?.relation
        }
        #expect(places == [.current, .parent, .current, .parent, .inside])
    }

    @Test func directoryEntryTypes() {
        #expect(ListingKind.allCases.map(\.directoryEntryType) == [8, 4, 10, 2, 6, 1, 12, 0])
    }

    static func text(_ date: ListingDate) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        var text = "\(date.year)-\(two(date.month))-\(two(date.day))"
        if date.precision != .day { text += " \(two(date.hour)):\(two(date.minute))" }
        if date.precision == .second { text += ":\(two(date.second))" }
        if date.isYearGuessed { text += " ?" }
        switch date.zone {
        case .utc: return text + " Z"
        case .offset(let seconds): return text + " +\(seconds)"
        case .unknown: return text
        }
    }
}
