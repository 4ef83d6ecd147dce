package mysqlrow

import (
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// This file holds the tables of the character sets. They are those of MySQL 9.7:
// each was compared byte by byte with what its CONVERT gives, and the tests
// compare them again.

// cp1252 is the part of latin1 that is not ISO 8859-1.
var cp1252 = [32]rune{
	0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
	0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008D, 0x017D, 0x008F,
	0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
	0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
}

// encodings are the published encodings nearest to the server's.
var encodings = map[string]encoding.Encoding{
	"big5": traditionalchinese.Big5, "gbk": simplifiedchinese.GBK, "gb2312": simplifiedchinese.GBK, "gb18030": simplifiedchinese.GB18030,
	"euckr": korean.EUCKR, "sjis": japanese.ShiftJIS, "cp932": japanese.ShiftJIS, "ujis": japanese.EUCJP, "eucjpms": japanese.EUCJP,
}

// pairsOf makes the table of the characters of two bytes.
func pairsOf(name string) *[1 << 16]uint16 {
	t := new([1 << 16]uint16)
	d := encodings[name].NewDecoder()
	var buf [16]byte
	for code := 0x8000; code < len(t); code++ {
		n, _, err := d.Transform(buf[:], []byte{byte(code >> 8), byte(code)}, true)
		if r, size := utf8.DecodeRune(buf[:n]); err == nil && size == n && r != utf8.RuneError && r < len32(t) && !foreign(name, code) {
			t[code] = uint16(r)
		}
	}
	for code := range t {
		if r := privateUse(name, code>>8, code&0xFF); r != 0 {
			t[code] = r
		}
	}
	applyRuns(t, pairRuns[name])
	return t
}

func len32(t *[1 << 16]uint16) rune { return rune(len(t)) }

// triplesOf makes the table of the characters behind the byte 0x8F.
func triplesOf(name string) *[1 << 16]uint16 {
	t := new([1 << 16]uint16)
	d := encodings[name].NewDecoder()
	var buf [16]byte
	for code := 0xA1A1; code < len(t); code++ {
		n, _, err := d.Transform(buf[:], []byte{0x8F, byte(code >> 8), byte(code)}, true)
		if r, size := utf8.DecodeRune(buf[:n]); err == nil && size == n && r != utf8.RuneError {
			t[code] = uint16(r)
		}
		if lead, trail := code>>8, code&0xFF; lead >= 0xF5 && lead <= 0xFE && trail >= 0xA1 && trail <= 0xFE {
			t[code] = uint16(0xE3AC + (lead-0xF5)*94 + trail - 0xA1)
		}
	}
	applyRuns(t, tripleRuns[name])
	return t
}

// foreign reports the pairs that the published encoding has and the server has not.
func foreign(name string, code int) bool {
	lead, trail := code>>8, code&0xFF
	switch name {
	case "gb2312":
		return lead < 0xA1 || trail < 0xA1 || lead > 0xF7
	case "big5":
		return lead < 0xA1 || lead == 0xC8 || lead > 0xF9 || lead == 0xC7 && trail > 0xFC || lead == 0xF9 && trail > 0xDC
	case "sjis":
		return lead == 0x87 || lead >= 0xED && trail >= 0x40
	case "ujis":
		return lead == 0xAD
	default:
		return false
	}
}

// privateUse gives the characters of the user-defined rows, which stand in order from U+E000 on.
func privateUse(name string, lead, trail int) uint16 {
	switch name {
	case "cp932":
		if lead >= 0xF0 && lead <= 0xF9 && trail >= 0x40 && trail <= 0xFC && trail != 0x7F {
			return uint16(0xE000 + (lead-0xF0)*188 + gapless(trail))
		}
	case "ujis", "eucjpms":
		if lead >= 0xF5 && lead <= 0xFE && trail >= 0xA1 && trail <= 0xFE {
			return uint16(0xE000 + (lead-0xF5)*94 + trail - 0xA1)
		}
	case "gb18030":
		switch {
		case trail >= 0xA1 && trail <= 0xFE && lead >= 0xAA && lead <= 0xAF:
			return uint16(0xE000 + (lead-0xAA)*94 + trail - 0xA1)
		case trail >= 0xA1 && trail <= 0xFE && lead >= 0xF8 && lead <= 0xFE:
			return uint16(0xE234 + (lead-0xF8)*94 + trail - 0xA1)
		case trail >= 0x40 && trail <= 0xA0 && trail != 0x7F && lead >= 0xA1 && lead <= 0xA7:
			return uint16(0xE4C6 + (lead-0xA1)*96 + gapless(trail))
		}
	}
	return 0
}

// gapless counts the second bytes from 0x40 on, 0x7F left out.
func gapless(trail int) int {
	if trail > 0x7F {
		trail--
	}
	return trail - 0x40
}

// run is characters of codes that follow each other; U+FFFD is a pair without a character.
type run struct {
	first int
	text  string
}

func applyRuns(t *[1 << 16]uint16, runs []run) {
	for _, r := range runs {
		for i, c := range []rune(r.text) {
			t[r.first+i] = uint16(c)
		}
	}
}

// pairRuns is where the server differs from the encodings.
var pairRuns = map[string][]run{
	"big5": {
		{0xA145, "•"},
		{0xA14E, "､"},
		{0xA15A, "�"},
		{0xA1C2, "‾�"},
		{0xA1C5, "�"},
		{0xA1E3, "∼"},
		{0xA1F2, "♁☉"},
		{0xA1FE, "�"},
		{0xA240, "�／＼"},
		{0xA244, "¥"},
		{0xA246, "¢£"},
		{0xA2CC, "�"},
		{0xA2CE, "�"},
		{0xC6A1, "ヾゝゞ々ぁあぃいぅうぇえぉおかがきぎくぐけげこごさざしじすずせぜそぞただちぢっつづてでとどなにぬねのはばぱひびぴふぶぷへべぺほぼぽまみむめもゃやゅゆょよらりるれろゎわゐゑをんァアィイゥウェ"},
		{0xC740, "エォオカガキギクグケゲコゴサザシジスズセゼソゾタダチヂッツヅテデトドナニヌネノハバパヒビピフブプヘベペホボポマミムメモャヤュユ"},
		{0xC7A1, "ョヨラリルレロヮワヰヱヲンヴヵヶДЕЁЖЗИЙКЛМУФХЦЧШЩЪЫЬЭЮЯабвгдеёжзийклмнопрстуфхцчшщъыьэюя①②③④⑤⑥⑦⑧⑨⑩⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽"},
	},
	"gb2312": {
		{0xA1A4, "・"},
		{0xA1AA, "―"},
	},
	"sjis": {
		{0x815F, "\\〜‖"},
		{0x817C, "−"},
		{0x8191, "¢£"},
		{0x81CA, "¬"},
	},
	"ujis": {
		{0xA1C0, "\\〜‖"},
		{0xA1DD, "−"},
		{0xA1F1, "¢£"},
		{0xA2CC, "¬"},
	},
	"gb18030": {
		{0xA2AB, "\ue766\ue767\ue768\ue769\ue76a\ue76b"},
		{0xA2E4, "\ue76d"},
		{0xA2EF, "\ue76e\ue76f"},
		{0xA2FD, "\ue770\ue771"},
		{0xA4F4, "\ue772\ue773\ue774\ue775\ue776\ue777\ue778\ue779\ue77a\ue77b\ue77c"},
		{0xA5F7, "\ue77d\ue77e\ue77f\ue780\ue781\ue782\ue783\ue784"},
		{0xA6B9, "\ue785\ue786\ue787\ue788\ue789\ue78a\ue78b\ue78c"},
		{0xA6D9, "\ue78d\ue78e\ue78f\ue790\ue791\ue792\ue793"},
		{0xA6EC, "\ue794\ue795"},
		{0xA6F3, "\ue796"},
		{0xA6F6, "\ue797\ue798\ue799\ue79a\ue79b\ue79c\ue79d\ue79e\ue79f"},
		{0xA7C2, "\ue7a0\ue7a1\ue7a2\ue7a3\ue7a4\ue7a5\ue7a6\ue7a7\ue7a8\ue7a9\ue7aa\ue7ab\ue7ac\ue7ad\ue7ae"},
		{0xA7F2, "\ue7af\ue7b0\ue7b1\ue7b2\ue7b3\ue7b4\ue7b5\ue7b6\ue7b7\ue7b8\ue7b9\ue7ba\ue7bb"},
		{0xA896, "\ue7bc\ue7bd\ue7be\ue7bf\ue7c0\ue7c1\ue7c2\ue7c3\ue7c4\ue7c5\ue7c6"},
		{0xA8BC, "ḿ"},
		{0xA8C1, "\ue7c9\ue7ca\ue7cb\ue7cc"},
		{0xA8EA, "\ue7cd\ue7ce\ue7cf\ue7d0\ue7d1\ue7d2\ue7d3\ue7d4\ue7d5\ue7d6\ue7d7\ue7d8\ue7d9\ue7da\ue7db\ue7dc\ue7dd\ue7de\ue7df\ue7e0\ue7e1"},
		{0xA958, "\ue7e2"},
		{0xA95B, "\ue7e3"},
		{0xA95D, "\ue7e4\ue7e5\ue7e6"},
		{0xA997, "\ue7f4\ue7f5\ue7f6\ue7f7\ue7f8\ue7f9\ue7fa\ue7fb\ue7fc\ue7fd\ue7fe\ue7ff\ue800"},
		{0xA9F0, "\ue801\ue802\ue803\ue804\ue805\ue806\ue807\ue808\ue809\ue80a\ue80b\ue80c\ue80d\ue80e\ue80f"},
		{0xD7FA, "\ue810\ue811\ue812\ue813\ue814"},
		{0xFE51, "\ue816\ue817\ue818"},
		{0xFE59, "\ue81e"},
		{0xFE61, "\ue826"},
		{0xFE66, "\ue82b\ue82c"},
		{0xFE6C, "\ue831\ue832"},
		{0xFE76, "\ue83b"},
		{0xFE7E, "\ue843"},
		{0xFE90, "\ue854\ue855"},
		{0xFEA0, "\ue864"},
		{0xA3A0, "\ue5e5"},
	},
}

// tripleRuns is the same for the characters behind the byte 0x8F.
var tripleRuns = map[string][]run{
	"ujis": {
		{0xA2B7, "~"},
	},
	"eucjpms": {
		{0xA2C3, "￤"},
		{0xF3F3, "ⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅠⅡ"},
		{0xF4A1, "ⅢⅣⅤⅥⅦⅧⅨⅩ＇＂㈱№℡炻仼僴凬匇匤﨎咊坙﨏塚增寬峵嵓﨑德悅愠敎昻晥晴朗栁﨓﨔橫櫢淸淲瀨凞猪甁皂皞益礰礼神祥福竧靖精綠緖羽荢﨟薰蘒﨡蠇諸譿賴赶﨣﨤逸郞都鄕﨧﨨閒隆﨩霻靍靑飯飼館馞髙魲鶴黑"},
	},
}

// upperHalves gives the characters from byte 0x80 on; U+FFFD is none.
var upperHalves = map[string]string{
	"armscii8": "\u0080\u0081\u0082\u0083\u0084\u0085\u0086\u0087\u0088\u0089\u008a\u008b\u008c\u008d\u008e\u008f\u0090\u0091\u0092\u0093\u0094\u0095\u0096\u0097\u0098\u0099\u009a\u009b\u009c\u009d\u009e\u009f\u00a0❁§։)(»«—.՝,-՟…՜՛՞ԱաԲբԳգԴդԵեԶզԷէԸըԹթԺժԻիԼլԽխԾծԿկՀհՁձՂղՃճՄմՅյՆնՇշՈոՉչՊպՋջՌռՍսՎվՏտՐրՑցՒւՓփՔքՕօՖֆ’'",
	"cp1250":   "€�‚�„…†‡�‰Š‹ŚŤŽŹ�‘’“”•–—�™š›śťžź\u00a0ˇ˘Ł¤Ą¦§¨©Ş«¬\u00ad®Ż°±˛ł´µ¶·¸ąş»Ľ˝ľżŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢßŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙",
	"cp1251":   "ЂЃ‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•–—�™љ›њќћџ\u00a0ЎўЈ¤Ґ¦§Ё©Є«¬\u00ad®Ї°±Ііґµ¶·ё№є»јЅѕїАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмнопрстуфхцчшщъыьэюя",
	"cp1256":   "€پ‚ƒ„…†‡ˆ‰�‹Œچژ�گ‘’“”•–—�™�›œ\u200c\u200d�\u00a0،¢£¤¥¦§¨©�«¬\u00ad®¯°±²³´µ¶·¸¹؛»¼½¾؟�ءآأؤإئابةتثجحخدذرزسشصض×طظعغـفقكàلâمنهوçèéêëىيîïًٌٍَôُِ÷ّùْûü\u200e\u200f�",
	"cp1257":   "€�‚�„…†‡�‰�‹�¨ˇ¸�‘’“”•–—�™�›�¯˛�\u00a0�¢£¤�¦§Ø©Ŗ«¬\u00ad®Æ°±²³´µ¶·ø¹ŗ»¼½¾æĄĮĀĆÄÅĘĒČÉŹĖĢĶĪĻŠŃŅÓŌÕÖ×ŲŁŚŪÜŻŽßąįāćäåęēčéźėģķīļšńņóōõö÷ųłśūüżž˙",
	"cp850":    "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u00ad±‗¾¶§÷¸°¨·¹³²■\u00a0",
	"cp852":    "ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u00ad˝˛ˇ˘§÷¸°¨˙űŘř■\u00a0",
	"cp866":    "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмноп░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀рстуфхцчшщъыьэюяЁёЄєЇїЎў°∙·√ⁿ²■\u00a0",
	"dec8":     "\u0080\u0081\u0082\u0083\u0084\u0085\u0086\u0087\u0088\u0089\u008a\u008b\u008c\u008d\u008e\u008f\u0090\u0091\u0092\u0093\u0094\u0095\u0096\u0097\u0098\u0099\u009a\u009b\u009c\u009d\u009e\u009f\u00a0¡¢£�¥�§¤©ª«����°±²³�µ¶·�¹º»¼½�¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏ�ÑÒÓÔÕÖŒØÙÚÛÜŸ�ßàáâãäåæçèéêëìíîï�ñòóôõöœøùúûüÿ��",
	"geostd8":  "€�‚�„…†‡�‰�‹�����‘’“”•–—���›����\u00a0¡¢£¤¥¦§¨©ª«¬\u00ad®¯°±²³´µ¶·¸¹º»¼½¾¿აბგდევზჱთიკლმნჲოპჟრსტჳუფქღყშჩცძწჭხჴჯჰჵ�����������������������№��",
	"greek":    "\u0080\u0081\u0082\u0083\u0084\u0085\u0086\u0087\u0088\u0089\u008a\u008b\u008c\u008d\u008e\u008f\u0090\u0091\u0092\u0093\u0094\u0095\u0096\u0097\u0098\u0099\u009a\u009b\u009c\u009d\u009e\u009f\u00a0ʽʼ£��¦§¨©�«¬\u00ad�―°±²³΄΅Ά·ΈΉΊ»Ό½ΎΏΐΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡ�ΣΤΥΦΧΨΩΪΫάέήίΰαβγδεζηθικλμνξοπρςστυφχψωϊϋόύώ�",
	"hebrew":   "\u0080\u0081\u0082\u0083\u0084\u0085\u0086\u0087\u0088\u0089\u008a\u008b\u008c\u008d\u008e\u008f\u0090\u0091\u0092\u0093\u0094\u0095\u0096\u0097\u0098\u0099\u009a\u009b\u009c\u009d\u009e\u009f\u00a0�¢£¤¥¦§¨©×«¬\u00ad®‾°±²³´µ¶·¸¹÷»¼½¾��������������������������������‗אבגדהוזחטיךכלםמןנסעףפץצקרשת��\u200e\u200f�",
	"hp8":      "\u0080\u0081\u0082\u0083\u0084\u0085\u0086\u0087\u0088\u0089\u008a\u008b\u008c\u008d\u008e\u008f\u0090\u0091\u0092\u0093\u0094\u0095\u0096\u0097\u0098\u0099\u009a\u009b\u009c\u009d\u009e\u009f\u00a0ÀÂÈÊËÎÏ´ˋˆ¨˜ÙÛ₤¯Ýý°ÇçÑñ¡¿¤£¥§ƒ¢âêôûáéóúàèòùäëöüÅîØÆåíøæÄìÖÜÉïßÔÁÃãÐðÍÌÓÒÕõŠšÚŸÿÞþ·µ¶¾—¼½ªº«■»±�",
	"keybcs2":  "ČüéďäĎŤčěĚĹÍľĺÄÁÉžŽôöÓůÚýÖÜŠĽÝŘťáíóúňŇŮÔšřŕŔ¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0",
	"koi8r":    "─│┌┐└┘├┤┬┴┼▀▄█▌▐░▒▓⌠■∙√≈≤≥\u00a0⌡°²·÷═║╒ё╓╔╕╖╗╘╙╚╛╜╝╞╟╠╡Ё╢╣╤╥╦╧╨╩╪╫╬©юабцдефгхийклмнопярстужвьызшэщчъЮАБЦДЕФГХИЙКЛМНОПЯРСТУЖВЬЫЗШЭЩЧЪ",
	"koi8u":    "─│┌┐└┘├┤┬┴┼▀▄█▌▐░▒▓⌠■•√≈≤≥\u00a0⌡°²·÷═║╒ёє╔ії╗╘╙╚╛ґ╝╞╟╠╡ЁЄ╣ІЇ╦╧╨╩╪Ґ╬©юабцдефгхийклмнопярстужвьызшэщчъЮАБЦДЕФГХИЙКЛМНОПЯРСТУЖВЬЫЗШЭЩЧЪ",
	"latin2":   "\u0080\u0081\u0082\u0083\u0084\u0085\u0086\u0087\u0088\u0089\u008a\u008b\u008c\u008d\u008e\u008f\u0090\u0091\u0092\u0093\u0094\u0095\u0096\u0097\u0098\u0099\u009a\u009b\u009c\u009d\u009e\u009f\u00a0Ą˘Ł¤ĽŚ§¨ŠŞŤŹ\u00adŽŻ°ą˛ł´ľśˇ¸šşťź˝žżŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢßŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙",
	"latin5":   "\u0080\u0081\u0082\u0083\u0084\u0085\u0086\u0087\u0088\u0089\u008a\u008b\u008c\u008d\u008e\u008f\u0090\u0091\u0092\u0093\u0094\u0095\u0096\u0097\u0098\u0099\u009a\u009b\u009c\u009d\u009e\u009f\u00a0¡¢£¤¥¦§¨©ª«¬\u00ad®¯°±²³´µ¶·¸¹º»¼½¾¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏĞÑÒÓÔÕÖ×ØÙÚÛÜİŞßàáâãäåæçèéêëìíîïğñòóôõö÷øùúûüışÿ",
	"latin7":   "\u0080\u0081\u0082\u0083\u0084\u0085\u0086\u0087\u0088\u0089\u008a\u008b\u008c\u008d\u008e\u008f\u0090\u0091\u0092\u0093\u0094\u0095\u0096\u0097\u0098\u0099\u009a\u009b\u009c\u009d\u009e\u009f\u00a0”¢£¤„¦§Ø©Ŗ«¬\u00ad®Æ°±²³“µ¶·ø¹ŗ»¼½¾æĄĮĀĆÄÅĘĒČÉŹĖĢĶĪĻŠŃŅÓŌÕÖ×ŲŁŚŪÜŻŽßąįāćäåęēčéźėģķīļšńņóōõö÷ųłśūüżž’",
	"macce":    "ÄĀāÉĄÖÜáąČäčĆćéŹźĎíďĒēĖóėôöõúĚěü†°Ę£§•¶ß®©™ę¨≠ģĮįĪ≤≥īĶ∂∑łĻļĽľĹĺŅņŃ¬√ńŇ∆«»…\u00a0ňŐÕőŌ–—“”‘’÷◊ōŔŕŘ‹›řŖŗŠ‚„šŚśÁŤťÍŽžŪÓÔūŮÚůŰűŲųÝýķŻŁżĢˇ",
	"macroman": "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u00a0ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\uf8ffÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ",
	"tis620":   "\u0080\u0081\u0082\u0083\u0084\u0085\u0086\u0087\u0088\u0089\u008a\u008b\u008c\u008d\u008e\u008f\u0090\u0091\u0092\u0093\u0094\u0095\u0096\u0097\u0098\u0099\u009a\u009b\u009c\u009d\u009e\u009f�กขฃคฅฆงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรฤลฦวศษสหฬอฮฯะัาำิีึืฺุู����฿เแโใไๅๆ็่้๊๋์ํ๎๏๐๑๒๓๔๕๖๗๘๙๚๛����",
	"swe7":     "��������������������������������������������������������������������������������������������������������������������������������",
}
