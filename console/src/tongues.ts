// The codes of the languages that the page offers.
export const tongues = ('af am an ar as az ba be bg bn bpy bs ca cs cv cy da de el en eo es et eu fa fi fr ga gd gl ' +
  'gn grc gu ha haw he hi hr ht hu hy ia id io is it ja ka kk kl kn ko kok ku ky la lb lt lv mi mk ml mr ms mt my nb ' +
  'ne nl om or pa pl pt pt-BR ro ru sd si sk sl sq sr sv sw ta te th tk tn tr tt ug uk ur uz vi zh').split(' ')
